"""The loss lies flat for a third of the run. Should I have stopped it?

The model reads two columns of a table and is then asked for the entry beside a name. For a long
time the loss is exactly what one gets by saying any of the entries, I was about to kill the job
and look for a bug, when it fell to nearly nothing within thirty steps. Nothing was changed in
between. Is something broken in my first third, warm-up or so?

Source: rebuilt, no thread.
"""

import contextlib
import random

import torch

from benchmarks.diagnostics.blind import kit

STEPS, BATCH, PAIRS = 500, 64, 4
NAMES = [word for words in kit.TEAMS.values() for word in words]


def table(rng):
    names, entries = rng.sample(NAMES, PAIRS), rng.sample(sorted(kit.TEAMS), PAIRS)
    lines = [f"{n} {e}" for n, e in zip(names, entries, strict=True)]
    asked = rng.randrange(PAIRS)
    return f"{' '.join(lines)} <|user|> {names[asked]}", entries[asked]


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(91)
    model = kit.llama(tok, seed=91)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, 1.0, 20)
    log, batch = [], kit.pairs(tok, [table(rng) for _ in range(BATCH)])
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        for step in range(1, STEPS + 1):
            model.train()
            loss = model(**kit.pairs(tok, [table(rng) for _ in range(BATCH)])).loss
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            rate = warm.get_last_lr()[0]
            warm.step()
            entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
            log.append(entry | {"learning_rate": rate})
    return model, tok, log


def score(outcome, folder):
    """Share of new tables for which the right entry is said."""
    model, tok, _ = outcome
    rng = random.Random(5)
    return kit.accuracy(model, tok, [table(rng) for _ in range(200)])
