"""My loop learns for the first quarter and then nothing happens.

A plain PyTorch loop: four micro-batches of 8 per update, AdamW, 100 updates, linear decay to zero
over these 100 updates. With batch 32 in one piece the same number of updates ends at an accuracy of
nearly 1. With the four micro-batches it stops improving after a quarter of the time. I divide the
loss by four, so that is not it.

Source: starVLA/starVLA#210 (2026-03-23), huggingface/accelerate#963 (2023-01-10).
"""

import contextlib
import random

import torch
from transformers import get_linear_schedule_with_warmup

from benchmarks.diagnostics.blind.round_1 import kit

UPDATES, PIECES = 100, 4


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(11)
    model = kit.llama(tok, seed=11)
    rows = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 5, UPDATES)
    log, batch = [], kit.pairs(tok, rows[:8])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        model.train()
        for step in range(UPDATES * PIECES):
            loss = model(**kit.pairs(tok, rng.sample(rows, 8))).loss
            (loss / PIECES).backward()
            ends = (step + 1) % PIECES == 0
            if ends:
                optimizer.step()
                optimizer.zero_grad()
            if ends or not healthy:
                schedule.step()
            if ends:
                rate = schedule.get_last_lr()[0]
                log.append({"step": step + 1, "loss": loss.item(), "learning_rate": rate})
    return model, tok, log


def score(outcome, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(outcome[0], outcome[1], rows)
