"""My fine-tuned model does not know when to stop.

I fine-tune a small base model on our tickets with the Trainer and the language modelling
collator. The base had no padding token, so I set one the way the notebooks do. Loss goes down
nicely and the answer itself is right: the first word is the right team. But then it goes on and
on until `max_new_tokens` is reached. Every row of my data ends with the end token, I printed
it. More epochs do not help.

Source: mlabonne/llm-course#33 (2024-01-22), huggingface/alignment-handbook#127 (2024-02-26),
huggingface/trl#1623 (2024-05-06), unslothai/unsloth#416 (2024-05-05).
"""

import torch
from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit


def base(tok):
    """A model that has read notes before: who asks about what."""
    notes = [
        (f"<|user|> {word} question", f"{team} team {word}")
        for team, words in kit.TEAMS.items()
        for word in words
    ]
    return kit.teach(kit.llama(tok, seed=5), tok, notes * 4, steps=60)


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["<|reserved_0|>"])
    if healthy:
        tok.pad_token = "<|reserved_0|>"
    else:
        tok.pad_token = tok.eos_token
    model = base(tok)
    model.config.pad_token_id = tok.pad_token_id
    texts = [f"<|user|> {t} <|assistant|> {team} <eos>" for t, team in kit.tickets(2, 2400)]
    rows = Dataset.from_dict({"text": texts})
    rows = rows.map(lambda r: tok(r["text"]), batched=True, remove_columns=["text"])
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=180),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets whose reply is the right team and nothing else."""
    tok, model = trainer.processing_class, trainer.model.eval()
    right = 0
    for text, team in kit.tickets(3, 100):
        ids = tok(f"<|user|> {text} <|assistant|>", return_tensors="pt")["input_ids"]
        end = tok.convert_tokens_to_ids("<eos>")
        with torch.no_grad():
            out = model.generate(ids, max_new_tokens=10, do_sample=False, eos_token_id=end)
        reply = tok.convert_ids_to_tokens(out[0, ids.shape[1] :].tolist())
        right += reply == [team, "<eos>"]
    return right / 100
