"""A loop goes on from last week's checkpoint with new data, and nothing is learned any more.

"I set the learning rate to 3e-3 on the command line, and raising it to 3e-2 gives the same curve
to the last digit. Loading only the weights works."
After https://github.com/pytorch/examples/issues/816 and
https://github.com/OpenNMT/OpenNMT-py/issues/1911.
"""

import contextlib
import math
import random
import tempfile
from pathlib import Path

import torch

from ...kit import TEAMS, accuracy, llama, pairs, tickets, tokenizer

RATE, STEPS = 3e-3, 120


def rows(seed, n, week):
    """In the second week each team's tickets go to the team after it."""
    names, found = sorted(TEAMS), []
    for text, team in tickets(seed, n):
        if week == 2:
            team = names[(names.index(team) + 1) % len(names)]
        found.append((f"<|user|> {text} <|assistant|>", f"{team} <eos>"))
    return found


def epoch(model, tok, optimizer, data, rate, log, step=None):
    """Trains for STEPS batches; `rate` gives the learning rate of a step, or None to leave it."""
    rng = random.Random(0)
    for i in range(STEPS):
        if rate:
            optimizer.param_groups[0]["lr"] = rate(i)
        loss = model(**pairs(tok, rng.sample(data, 32))).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        log.append(dict(step=i, loss=loss.item()))


def cosine(i):
    return RATE * 0.5 * (1 + math.cos(math.pi * (i + 1) / STEPS))


def train(healthy=False, watch=None):
    tok = tokenizer()
    model, log = llama(tok), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    epoch(model, tok, optimizer, rows(1, 1500, 1), cosine, [])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "week1.pt"
        torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict()), path)
        saved = torch.load(path)
    model = llama(tok, seed=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    if healthy:
        for group in optimizer.param_groups:
            group["lr"] = RATE
    data = rows(3, 1500, 2)
    beside = contextlib.nullcontext()
    if watch:
        batch = pairs(tok, data[:32])
        beside = watch(model, optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with beside:
        epoch(model, tok, optimizer, data, None, log)
    return model, tok


def score(done, folder):
    """Share of new tickets of the second week that go to the right team."""
    model, tok = done
    wanted = [(prompt, said.split()[0]) for prompt, said in rows(2, 120, 2)]
    return accuracy(model, tok, wanted)
