"""Eight workers learn more slowly than one, and stop at a worse loss.

My own data-parallel loop, here with the eight workers one after the other in one process. Each
has its model, its optimizer and its share of the tickets; after backward the gradients are
averaged over the workers and every worker takes the same step. I seed each worker with its rank,
so that they do not see the same data. The loss still goes down, that is why it took me weeks to see
that something is wrong. The model of worker 0 is saved.

Source: pytorch/torchtitan#166 (2024-03-26, "surprisingly the model was still training"),
Lightning-AI/litgpt#269 (2023-07-17), allenai/OLMo-core#319 (2025-07-07).
"""

import contextlib
import random

import torch

from benchmarks.diagnostics.blind import kit

RANKS, STEPS = 8, 60


def train(healthy=False, watch=None):
    tok = kit.tokenizer()
    models = [kit.llama(tok, seed=0 if healthy else rank) for rank in range(RANKS)]
    rows = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    shards = [rows[rank::RANKS] for rank in range(RANKS)]
    rngs = [random.Random(rank) for rank in range(RANKS)]
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-3) for m in models]
    log, batch = [], kit.pairs(tok, rows[:16])
    seen = dict(optimizer=optimizers[0], batch=batch, tokenizer=tok, log=log)
    with watch(models[0], **seen) if watch else contextlib.nullcontext():
        for step in range(STEPS):
            losses = []
            for rank, model in enumerate(models):
                model.train()
                batch = kit.pairs(tok, rngs[rank].sample(shards[rank], 4))
                losses.append(model(**batch).loss)
                losses[-1].backward()
            for same in zip(*(m.parameters() for m in models), strict=True):
                mean = torch.stack([p.grad for p in same]).mean(0)
                for p in same:
                    p.grad.copy_(mean)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
            entry = {f"loss/rank{rank}": loss.item() for rank, loss in enumerate(losses)}
            entry |= {"step": step + 1, "loss": sum(entry.values()) / RANKS}
            log.append(entry | {"learning_rate": 1e-3})
    return models[0], tok, log


def score(outcome, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(outcome[0], outcome[1], rows)
