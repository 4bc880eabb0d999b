"""More workers make it worse: with four the model knows one quarter of the regions.

Data parallel by hand, four workers, each reads the file of its own region. Gradients are summed
over six micro-batches, and the exchange between the workers is left out where it is not needed,
which saves most of the traffic. The loss of every worker goes to 0. The model of worker 0, which is
the one that I save, is at home in its own region and poor in the others. With one worker on all
of the files everything is right.

Source: modelscope/FunASR#3472 (2026-08-05), karpathy/build-nanogpt#30 (2024-06-17),
huggingface/picotron#5 (2024-11-01).
"""

import contextlib
import copy
import random

import torch

from benchmarks.diagnostics.blind import kit

WORKERS, ACCUMULATE, UPDATES, BATCH = 4, 6, 90, 8


def region(rank, seed, n):
    """Tickets of a region: each has its own order of the desks."""
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    names = dict(zip(teams, teams[rank:] + teams[:rank], strict=True))
    place = ["office", "customer", "morning", "update"][rank]
    for text, team in kit.tickets(rng.randrange(10**6), n, length=5):
        yield f"<|system|> {place} <|user|> {text} <|assistant|>", f"{names[team]} <eos>"


def exchange(models):
    """Every worker gets the mean of the gradients of all."""
    for same in zip(*(m.parameters() for m in models), strict=True):
        mean = torch.stack([p.grad for p in same]).mean(0)
        for p in same:
            p.grad.copy_(mean)


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(51)
    first = kit.llama(tok, seed=51)
    models = [first, *(copy.deepcopy(first) for _ in range(WORKERS - 1))]
    optimizers = [torch.optim.AdamW(m.parameters(), lr=3e-3) for m in models]
    files = [list(region(rank, 10 + rank, 1500)) for rank in range(WORKERS)]
    ahead = 1 if healthy else 0
    log, micro = [], 0
    batch = kit.pairs(tok, files[0][:BATCH])
    seen = dict(optimizer=optimizers[0], batch=batch, tokenizer=tok, log=log)
    with watch(first, **seen) if watch else contextlib.nullcontext():
        for step in range(1, UPDATES + 1):
            total = 0.0
            for _ in range(ACCUMULATE):
                for model, rows in zip(models, files, strict=True):
                    loss = model(**kit.pairs(tok, rng.sample(rows, BATCH))).loss / ACCUMULATE
                    loss.backward()
                    total += loss.item() / WORKERS
                if (micro + ahead) % ACCUMULATE == 0:
                    exchange(models)
                micro += 1
                if micro % ACCUMULATE == 0:
                    for optimizer in optimizers:
                        optimizer.step()
                        optimizer.zero_grad()
            log.append({"step": step, "loss": total, "learning_rate": 3e-3})
    return first, tok, log


def score(outcome, folder):
    """Share of new tickets, of all regions alike, that go to the right desk."""
    model, tok, _ = outcome
    rows = [row for rank in range(WORKERS) for row in region(rank, 90 + rank, 60)]
    return kit.accuracy(model, tok, [(p, a.split()[0]) for p, a in rows])
