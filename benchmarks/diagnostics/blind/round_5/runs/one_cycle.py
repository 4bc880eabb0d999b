"""One-cycle schedule makes my loop worse than a constant rate.

Own PyTorch loop, OneCycleLR with max_lr=3e-3 as in the book, three epochs. Everybody says this
is the fastest way to train, in my hands it is by far the slowest: the loss creeps down,
accuracy after three epochs is poor. With a constant 3e-3 the model is done after two.

Source: ageron/handson-mlp#28 (2026-03-02), CodefyUI/CodefyUI#297 (2026-08-11),
pytorch/pytorch#65417 (2021-09-21).
"""

import contextlib
import random

import torch

from benchmarks.diagnostics.blind import kit

EPOCHS, BATCH = 3, 32


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(21)
    model = kit.llama(tok, seed=21)
    rows = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 1280)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    per_epoch = len(rows) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=3e-3, epochs=EPOCHS, steps_per_epoch=per_epoch
    )
    log, batch = [], kit.pairs(tok, rows[:BATCH])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        step = 0
        for _epoch in range(EPOCHS):
            model.train()
            rng.shuffle(rows)
            for i in range(per_epoch):
                loss = model(**kit.pairs(tok, rows[i * BATCH : (i + 1) * BATCH])).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                if healthy:
                    schedule.step()
                step += 1
                rate = optimizer.param_groups[0]["lr"]
                log.append({"step": step, "loss": loss.item(), "learning_rate": rate})
            if not healthy:
                schedule.step()
    return model, tok, log


def score(outcome, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(outcome[0], outcome[1], rows)
