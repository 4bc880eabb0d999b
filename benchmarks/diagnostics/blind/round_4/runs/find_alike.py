"""Contrastive loss will not go below 2.

I train an encoder so that two tickets of the same team lie close to each other (32 pairs a batch,
the other pairs of the batch are the negatives, temperature 0.1). The loss starts at 6, is 3.5
soon and then stays at about 2, whatever I do. Is the model too small?

Source: rebuilt, no thread.
"""

import contextlib
import random

import torch
from torch.nn import functional
from transformers import LlamaModel

from benchmarks.diagnostics.blind import kit

STEPS, PAIRS = 250, 32


def embed(model, tok, texts):
    batch = tok(texts, return_tensors="pt", padding=True)
    batch.pop("token_type_ids", None)
    states, mask = model(**batch).last_hidden_state, batch["attention_mask"].unsqueeze(-1)
    return functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


def train(healthy=True, watch=None):
    tok, rng = kit.tokenizer(), random.Random(17)
    torch.manual_seed(17)
    model = LlamaModel(kit.sizes(tok))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batch = tok([t for t, _ in kit.tickets(151, 8)], return_tensors="pt", padding=True)
    batch.pop("token_type_ids", None)
    log = []
    seen = dict(optimizer=optimizer, batch=dict(batch), tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        model.train()
        for step in range(STEPS):
            teams = rng.choices(sorted(kit.TEAMS), k=PAIRS)
            left = embed(model, tok, [kit.ticket(rng, team)[0] for team in teams])
            right = embed(model, tok, [kit.ticket(rng, team)[0] for team in teams])
            loss = functional.cross_entropy(left @ right.T / 0.1, torch.arange(PAIRS))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            log.append({"step": step + 1, "loss": loss.item(), "grad_norm": norm.item()})
    return model, tok, log


@torch.no_grad()
def score(outcome, folder):
    """Held-out share of tickets whose nearest other ticket is of the same team."""
    model, tok, pairs = outcome[0].eval(), outcome[1], kit.tickets(152, 200)
    found = embed(model, tok, [t for t, _ in pairs])
    near = (found @ found.T).fill_diagonal_(-2).argmax(-1).tolist()
    return sum(pairs[i][1] == pairs[j][1] for i, j in enumerate(near)) / len(pairs)
