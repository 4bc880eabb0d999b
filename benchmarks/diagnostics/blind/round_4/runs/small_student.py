"""Distillation: the loss falls, the student's probabilities are nothing like the teacher's.

A small student learns the teacher's distribution of the next word, with temperature 2, no hard
labels; we need the probabilities since the router thresholds them. The distillation loss goes down
by a lot in my own loop, so I thought that all was well, but on new tickets the two distributions
hardly overlap. A longer run makes the loss smaller and the student no better.

Source: salesforce/ALBEF#58 (2022-03-01), uta-smile/TCL#12 (2022-07-26),
microsoft/ProDA#43 (2022-03-08).
"""

import contextlib
import random

import torch
from torch.nn import functional

from benchmarks.diagnostics.blind import kit

STEPS, HEAT = 150, 2.0


def gap(student, teacher, axis):
    """Divergence of the student from the teacher at a temperature."""
    ours = functional.log_softmax(student / HEAT, dim=axis)
    theirs = functional.softmax(teacher / HEAT, dim=-1)
    return -(theirs * ours).sum(-1) * HEAT**2


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(9)
    rows = list(kit.half_knows(81, 3000))
    teacher = kit.teach(kit.llama(tok, seed=9), tok, rows, steps=120)
    student = kit.llama(tok, seed=10, hidden_size=32, intermediate_size=64)
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    log, batch = [], kit.pairs(tok, rows[:8])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(student, **seen) if watch else contextlib.nullcontext():
        student.train()
        for step in range(STEPS):
            batch = kit.pairs(tok, rng.sample(rows, 32))
            labels = batch.pop("labels")
            with torch.no_grad():
                wanted = teacher(**batch).logits
            each = gap(student(**batch).logits, wanted, -1 if healthy else 1)
            loss = each[:, :-1][labels[:, 1:] != -100].mean()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            log.append({"step": step + 1, "loss": loss.item(), "grad_norm": norm.item()})
    return student, tok, log, teacher


@torch.no_grad()
def score(outcome, folder):
    """Mean overlap of the student's and the teacher's next word on held-out tickets, 1 at best."""
    student, tok, _, teacher = outcome
    student.eval()
    found = []
    for text, _ in kit.tickets(82, 200, length=5):
        ids = tok(f"<|user|> {text} <|assistant|>", return_tensors="pt")["input_ids"]
        ours, theirs = (m(input_ids=ids).logits[0, -1].softmax(-1) for m in (student, teacher))
        found.append(torch.minimum(ours, theirs).sum().item())
    return sum(found) / len(found)
