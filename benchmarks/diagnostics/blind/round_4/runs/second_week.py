"""Continuing a finished run with more data does nothing.

Last week's run (80 updates on the tickets of three teams) is complete and its state was saved with
accelerate. This week there are tickets of all six teams, so I load the state and train 80 updates
more. Loading works, the loss begins where I expect it for unknown teams, but it does not move, and
the new teams are never predicted. When I start from scratch on all tickets the model learns them.

Source: mosaicml/composer#1384 (2022-08-08), mlfoundations/open_clip#413 (2023-02-08),
DeepLabCut/DeepLabCut#2788 (2024-11-14).
"""

import contextlib
import random
import tempfile

import torch
from accelerate import Accelerator
from transformers import get_linear_schedule_with_warmup

from benchmarks.diagnostics.blind import kit

UPDATES = 80


def fit(parts, accelerator, tok, rows, rng, log):
    model, optimizer, schedule = parts
    model.train()
    for _ in range(UPDATES):
        loss = model(**kit.pairs(tok, rng.sample(rows, 32))).loss
        accelerator.backward(loss)
        norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        rate = schedule.get_last_lr()[0]
        line = {"step": len(log) + 1, "loss": loss.item(), "grad_norm": norm.item()}
        log.append(line | {"learning_rate": rate})


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(13)
    pairs = kit.tickets(111, 3000)
    every = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in pairs]
    first = [row for row in every if row[1].split()[0] in ("billing", "login", "shipping")]
    accelerator = Accelerator(cpu=True)
    with tempfile.TemporaryDirectory() as folder:
        model = kit.llama(tok, seed=13)
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        schedule = get_linear_schedule_with_warmup(optimizer, 5, UPDATES)
        parts = accelerator.prepare(model, optimizer, schedule)
        fit(parts, accelerator, tok, first, rng, [])
        accelerator.save_state(folder)
        accelerator.free_memory()

        accelerator = Accelerator(cpu=True)
        model = kit.llama(tok, seed=0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        if healthy:
            model, optimizer = accelerator.prepare(model, optimizer)
            accelerator.load_state(folder)
            schedule = get_linear_schedule_with_warmup(optimizer, 5, UPDATES)
        else:
            schedule = get_linear_schedule_with_warmup(optimizer, 5, UPDATES)
            model, optimizer, schedule = accelerator.prepare(model, optimizer, schedule)
            accelerator.load_state(folder)
    log, batch = [], kit.pairs(tok, every[:8])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        fit((model, optimizer, schedule), accelerator, tok, every, rng, log)
    return model, tok, log


def score(outcome, folder):
    """Held-out share of tickets of all six teams that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(112, 200)]
    return kit.accuracy(outcome[0], outcome[1], rows)
