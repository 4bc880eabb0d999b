"""Preference training starts at a loss of 2500. Everybody else starts at 0.69.

DPOTrainer, only the loss type and beta are not the usual ones, a colleague chose them. The
loss is 2500.0 in the first line and 2440 in the last, and grad_norm is above 200.

Source: a standing question on losses of other kinds than the usual; rebuilt here, no thread.
"""

import random

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit


def pairs_of(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([t for t in sorted(kit.TEAMS) if t != team])
        prompt = f"<|user|> {text} <|assistant|>"
        yield {"prompt": prompt, "chosen": f" {team}", "rejected": f" {other}"}


def make(folder, healthy=True):
    tok = kit.tokenizer()
    base = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)
    base.save_pretrained(f"{folder}/base")
    args = DPOConfig(
        **kit.quiet(folder, max_steps=80) | {"logging_steps": 1},
        per_device_train_batch_size=16,
        learning_rate=2e-4,
        loss_type=["ipo"],
        beta=0.01,
    )
    return DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(f"{folder}/base"),
        args=args,
        train_dataset=Dataset.from_list([*pairs_of(2, 800)]),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out pairs: 0.77 before training."""
    tok, model, shares = trainer.processing_class, trainer.model.eval(), []
    for row in pairs_of(3, 200):
        logits = model(input_ids=tok(row["prompt"], return_tensors="pt")["input_ids"]).logits[0, -1]
        ids = tok.convert_tokens_to_ids([row["chosen"].strip(), row["rejected"].strip()])
        shares.append(logits[ids].softmax(-1)[0].item())
    return sum(shares) / len(shares)
