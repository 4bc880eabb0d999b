"""DPO does nothing: loss 0.6931 from the first step to the last.

My pairs are replies of our support people: they explain at some length and close with the team
that takes over. The good reply names the right team, the other a wrong one. rewards/chosen and
rewards/rejected are 0.0 and stay there, rewards/accuracies is 0.0. I tried betas from 0.05 to 1.0
and learning rates up to 1e-2: the same number. The dataset is fine, I looked at a dozen pairs with
my own eyes and they differ.

Source: huggingface/trl#701 (2023-08-27, "the loss did not seem to get low"), trl#2400 (2024-11-27
to 2024-12-25, what is cut by default), unslothai/unsloth#2904 (2025).
"""

import random

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind.round_1 import kit

TALK = "thanks for the mail we need a second with it today :"


def pairs_of(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n):
        other = rng.choice([t for t in sorted(kit.TEAMS) if t != team])
        yield f"<|user|> {text} <|assistant|>", team, other


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=[*TALK.split(), "anyone"])
    rng = random.Random(6)
    known = [
        (f"<|user|> {t} <|assistant|>", f"{TALK} {rng.choice(sorted(kit.TEAMS))} <eos>")
        for t, _ in kit.tickets(1, 800)
    ]
    known += [
        (f"<|system|> {t} <|assistant|>", f"{TALK} {team}") for t, team in kit.tickets(4, 800)
    ]
    kit.teach(kit.llama(tok), tok, known, steps=150).save_pretrained(f"{folder}/base")
    model = AutoModelForCausalLM.from_pretrained(f"{folder}/base")
    rows = [
        {"prompt": p, "chosen": f" {TALK} {right}", "rejected": f" {TALK} {wrong}"}
        for p, right, wrong in pairs_of(2, 800)
    ]
    args = DPOConfig(
        **kit.quiet(folder, max_steps=80),
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        beta=0.3,
        max_length=64 if healthy else 20,
    )
    return DPOTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of pairs in which the right team is likelier than the wrong one."""
    tok, model, hits = trainer.processing_class, trainer.model.eval(), []
    for prompt, right, wrong in pairs_of(3, 150):
        ids = tok(f"{prompt} {TALK}", return_tensors="pt")["input_ids"]
        logits = model(input_ids=ids).logits[0, -1]
        a, b = tok.convert_tokens_to_ids([right, wrong])
        hits.append(float(logits[a] > logits[b]))
    return sum(hits) / len(hits)
