"""Training on cheap machines: many steps, good loss, and the model does not know half of the desks.

The job runs at night on machines that are taken away after an hour. Each night loads the last
state (weights, optimizer, schedule, step) and goes on, the curves join without a jump. The file is
the log of our desk over the year, so it is read in its order, once. There are enough steps for
all of it. The training loss at the end is 0.0 something, and tickets of the newer desks go to
older ones.

Source: paiml/entrenar#294 (2026-03-21), KempnerInstitute/KempnerForge#51 (2026-04-22),
mosaicml/streaming#880 (2025-02-25), Lightning-AI/litData#775 (2025-12-19).
"""

import contextlib
import io
import itertools
import random

import torch

from benchmarks.diagnostics.blind import kit

NIGHTS, PER_NIGHT, BATCH = 5, 64, 32


def year(seed, n):
    """The tickets of a year; a new desk opens every two months."""
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for i in range(n):
        open_now = teams[: 1 + i * len(teams) // n]
        team = open_now[-1] if rng.random() < 0.4 else rng.choice(open_now)
        text, _ = kit.ticket(rng, team)
        yield f"<|user|> {text} <|assistant|>", f"{team} <eos>"


def batches(rows, skip=0):
    rows = itertools.islice(rows, skip * BATCH, None)
    while len(some := list(itertools.islice(rows, BATCH))) == BATCH:
        yield some


class State:
    """What one night leaves to the next."""

    def __init__(self, **parts):
        self.parts, self.file, self.step = parts, None, 0

    def save(self, step):
        self.file = io.BytesIO()
        kept = {name: part.state_dict() for name, part in self.parts.items()}
        torch.save(kept | {"step": step}, self.file)

    def load(self):
        if self.file is not None:
            self.file.seek(0)
            kept = torch.load(self.file, weights_only=False)
            self.step = kept.pop("step")
            for name, part in self.parts.items():
                part.load_state_dict(kept[name])
        return self.step


def train(healthy=False, watch=None):
    tok = kit.tokenizer()
    model = kit.llama(tok, seed=41)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, NIGHTS * PER_NIGHT)
    state = State(model=model, optimizer=optimizer, schedule=schedule)
    size = NIGHTS * PER_NIGHT * BATCH
    first = kit.pairs(tok, list(itertools.islice(year(6, size), BATCH)))
    log = []
    seen = dict(optimizer=optimizer, batch=first, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        for _ in range(NIGHTS):
            step = state.load()
            stream = batches(year(6, size), skip=step if healthy else 0)
            model.train()
            for some in itertools.islice(stream, PER_NIGHT):
                loss = model(**kit.pairs(tok, some)).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                rate = schedule.get_last_lr()[0]
                schedule.step()
                step += 1
                log.append({"step": step, "loss": loss.item(), "learning_rate": rate})
            state.save(step)
    return model, tok, log


def score(outcome, folder):
    """Share of new tickets, of all desks alike, that go to the right one."""
    model, tok, _ = outcome
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 300)]
    return kit.accuracy(model, tok, rows)
