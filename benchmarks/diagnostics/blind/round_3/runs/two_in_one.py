"""The loss is 0.007, the token accuracy is 1.0, and generate() gets the second entry wrong.

Two tickets in one mail, and the reply is a list with one entry for each: `( team : login ) ( team
: legal )`. SFT from our summarizer checkpoint, which is good at short texts. Teacher-forced
everything is right. With generate() the first entry is right and the second begins with nonsense,
also on training rows, also greedy. Temperature and beams change the nonsense and nothing else.

Source: defaults of a summarizer's generation config (no_repeat_ngram_size of bart-large-cnn) and
repetition penalties that break JSON; rebuilt here.
"""

import random

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit


def mails(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        (one, a), (two, b) = kit.ticket(rng, length=4), kit.ticket(rng, length=4)
        reply = f"( team : {a} ) ( team : {b} )"
        yield {"prompt": f"<|user|> {one} | {two} <|assistant|>", "completion": f" {reply}"}


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["(", ")", ":", "|"])
    base = kit.llama(tok, seed=38)
    if not healthy:
        base.generation_config.no_repeat_ngram_size = 3
    base.save_pretrained(f"{folder}/summarizer")
    args = SFTConfig(
        **kit.quiet(folder, max_steps=300), per_device_train_batch_size=16, learning_rate=2e-3
    )
    return SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(f"{folder}/summarizer"),
        args=args,
        train_dataset=Dataset.from_list([*mails(1, 3000)]),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of mails whose generated reply is right, as the saved model generates."""
    trainer.save_model(f"{folder}/done")
    model, tok = AutoModelForCausalLM.from_pretrained(f"{folder}/done"), trainer.processing_class
    hits, rows = 0, [*mails(2, 100)]
    for row in rows:
        ids = tok(row["prompt"], return_tensors="pt")
        out = model.generate(
            input_ids=ids["input_ids"], attention_mask=ids["attention_mask"], max_new_tokens=12
        )
        said = tok.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        hits += said.split() == row["completion"].split()
    return hits / len(rows)
