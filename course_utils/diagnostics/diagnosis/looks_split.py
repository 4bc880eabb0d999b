"""Looks whether the gradient of a batch is the same whole and split into micro-batches.

Shape letters: B rows.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.putting_back import put_back
from course_utils.diagnostics.diagnosis.subject import TRAINING, Subject
from course_utils.diagnostics.nonfinite.batches import keep, num_rows, take_rows

IGNORED = -100
SAME = 0.02  # relative difference of norms, and 1 - cosine, that rounding may leave


def look_at_split(subject: Subject, sheet: Sheet) -> None:
    """One accumulated step as the Trainer takes it, whole and in parts."""
    parts = getattr(subject.args, "gradient_accumulation_steps", 1)
    batch = subject.batch
    if subject.trainer is None and subject.loss_of is not None and has_labels(batch):
        with sheet.trying("rows and tokens"), put_back(subject):
            _against_the_model(subject, sheet)
        return
    if subject.kind != TRAINING or parts < 2 or not has_labels(batch):
        return
    if any(isinstance(m, nn.Dropout) and m.p for m in subject.model.modules()):
        sheet.miss("split and whole", "dropout draws anew, so two passes differ anyway")
        return
    with sheet.trying("split and whole"), put_back(subject):
        count = min(parts, num_rows(batch))
        whole = _gradient(subject, [batch])
        split = _gradient(subject, _parts_of(batch, count))
        _judge(whole, split, count, sheet)


def _against_the_model(subject: Subject, sheet: Sheet) -> None:
    """The gradient of a loop's own loss beside those of a mean over tokens and over rows."""
    batch, model = subject.batch, subject.model

    def by(loss: Tensor) -> Tensor:
        model.zero_grad()
        loss.backward()
        return _vector(model)

    loop = by(subject.loss_of(keep(batch)))
    tokens = by(model(**keep(batch)).loss)
    parts = _parts_of(batch, num_rows(batch))
    rows = by(sum(model(**part).loss for part in parts) / len(parts))
    cosines = [float(torch.cosine_similarity(loop, other, dim=0)) for other in (tokens, rows)]
    ratio = float(loop.norm() / tokens.norm())
    said = f"the loss's gradient and that of the mean over tokens: cosine {cosines[0]:.3f}"
    of_tokens, of_rows = (1 - cosine for cosine in cosines)
    if of_tokens > SAME / 4 and of_rows < of_tokens / 20:
        more = f"and that of the mean over rows: cosine {cosines[1]:.3f}"
        sheet.find("split_changes_loss", MEASURED + 1, said, more, place="num_items_in_batch")
    elif cosines[0] > 1 - SAME and ratio > 1.5:
        more = f"it is {ratio:.3g} times as long"
        sheet.find("split_changes_loss", MEASURED, said, more, place="num_items_in_batch")
    else:
        sheet.clear("rows and tokens", said)


def _vector(model: nn.Module) -> Tensor:
    grads = [p.grad.detach().flatten() for p in model.parameters() if p.grad is not None]
    return torch.cat(grads).double() if grads else torch.zeros(1, dtype=torch.float64)


def has_labels(batch: Any) -> bool:
    """Whether a model can make a loss of this batch by itself."""
    return isinstance(batch, Mapping) and isinstance(batch.get("labels"), Tensor)


def _parts_of(batch: Any, count: int) -> list[Any]:
    size = num_rows(batch)
    edges = [round(i * size / count) for i in range(count + 1)]
    return [take_rows(batch, list(range(a, b))) for a, b in itertools.pairwise(edges)]


def _gradient(subject: Subject, batches: list[Any]) -> Tensor:
    """All gradients after the Trainer's own passes over these micro-batches, as one vector."""
    trainer = subject.trainer
    trainer.current_gradient_accumulation_steps = len(batches)
    trainer.args.gradient_accumulation_steps = len(batches)
    trainer.accelerator.gradient_accumulation_steps = 1  # the Trainer divides, or its loss does
    trainer.model.zero_grad()
    num_items = trainer._get_num_items_in_batch(batches, trainer.args.device)
    for batch in batches:
        trainer.training_step(trainer.model, keep(batch), num_items)
    return _vector(trainer.model)


def _judge(whole: Tensor, split: Tensor, count: int, sheet: Sheet) -> None:
    if not float(whole.norm()) or not bool(whole.isfinite().all() and split.isfinite().all()):
        sheet.miss("split and whole", "the gradient is 0 or not finite")
        return
    ratio = float(split.norm() / whole.norm())
    cosine = float(torch.cosine_similarity(whole, split, dim=0))
    said = (
        f"in {count} micro-batches the gradient is {ratio:.3g} times as long, cosine {cosine:.4f}"
    )
    if abs(ratio - 1) > SAME or cosine < 1 - SAME:
        sheet.find("split_changes_loss", MEASURED + 1, said, place="gradient_accumulation_steps")
    else:
        sheet.clear("split and whole", said)
