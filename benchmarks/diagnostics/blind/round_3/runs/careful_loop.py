"""With mixed precision my loop crawls; without it, it learns in a minute.

A plain loop with autocast, GradScaler and clipping at 1.0, as in the tutorial. AdamW with the eps
of 1e-6 that we always use. The loss goes down so slowly that I thought that it does not learn at
all. No inf, no nan, the scaler never skips a step. Without the scaler (the same precision, the same
learning rate) it is done after 150 steps.

Source: pytorch/examples#1196 (2023-10-27), Lightning-AI/pytorch-lightning#9599 (2021-09-19, "a very
flat learning curve"), NCAR/miles-credit#141 (2025-01-05), k2-fsa/icefall#2081 (2026-04-27).
"""

import contextlib
import random

import torch

from benchmarks.diagnostics.blind import kit


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(14)
    model = kit.llama(tok, seed=14)
    rows = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-6)
    scaler = torch.amp.GradScaler("cpu")
    log, batch = [], kit.pairs(tok, rows[:16])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        model.train()
        for step in range(150):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(**kit.pairs(tok, rng.sample(rows, 16))).loss
            scaler.scale(loss).backward()
            if healthy:
                scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            entry = {"step": step + 1, "loss": loss.item(), "grad_norm": norm.item()}
            log.append(entry | {"learning_rate": 1e-3})
    return model, tok, log


def score(outcome, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(outcome[0], outcome[1], rows)
