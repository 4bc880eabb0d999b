"""The tiny model learns two kinds of rows at once, under one weighting or the other.

Nothing is judged. One forward pass gives both: only the weights of the token losses differ.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils import zoo
from course_utils.reproductions.lesson_08.batch_loss import collate, mixed_rows, num_targets
from course_utils.shown.progress_line import track

NUM_STEPS, EVERY, LR = 15, 5, 1e-3
MIX = {"long": 2, "short": 6}  # rows of a step
WEIGHTINGS = ("token mean", "mean of means")


@dataclass(frozen=True)
class Learnt:
    """Held-out loss in nats per token, before and every five steps, for each kind of row."""

    steps: tuple[int, ...]
    short: tuple[float, ...]
    long: tuple[float, ...]


def row_losses(model, rows) -> tuple[Tensor, Tensor]:
    """The sum of token losses and the number of targets of each row, shape (rows,) both."""
    batch = collate(rows)
    labels = batch.pop("labels")[:, 1:]
    logits = model(**batch, use_cache=False).logits[:, :-1]
    losses = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view_as(labels).sum(1), (labels != -100).sum(1)


def learn(weighting: str, seed: int, num_steps: int = NUM_STEPS) -> Learnt:
    """Train on `num_steps` batches of eight rows, and look at rows that were never trained.

    Args:
        weighting: "token mean", or "mean of means", as eight micro-batches of one row give it.
    """
    model = zoo.load_policy("tiny", device="cpu").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    seen = [(0, *held_out(model, seed))]
    for step in track(range(1, num_steps + 1), "training"):
        sums, counts = row_losses(model, mixed_rows(1000 * (seed + 1) + step, **MIX))
        loss = sums.sum() / counts.sum() if weighting == "token mean" else (sums / counts).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % EVERY == 0:
            seen.append((step, *held_out(model, seed)))
    return Learnt(*(tuple(column) for column in zip(*seen, strict=True)))


@torch.no_grad()
def held_out(model, seed: int) -> tuple[float, float]:
    """Loss of short and of long rows, in nats per token."""
    rows = mixed_rows(-1 - seed, long=4, short=8)
    is_long = torch.tensor([num_targets(row) > 20 for row in rows])
    sums, counts = row_losses(model, rows)
    kinds = (~is_long, is_long)
    return tuple(float(sums[kind].sum() / counts[kind].sum()) for kind in kinds)
