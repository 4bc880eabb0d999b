"""Checks whether the gradient of a batch is the same whole and split into micro-batches.

Shape letters: B rows, P weights, N parts.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import TRAINING, Subject
from course_utils.diagnostics.libraries.pytorch import batch_norms
from course_utils.diagnostics.libraries.trainer import num_items_of
from course_utils.diagnostics.nonfinite.batches import keep, num_rows, take_rows

IGNORED = -100
NEARLY = 0.1  # of the number of micro-batches: they differ in their numbers of tokens
SAME = 0.02  # relative difference of norms, and 1 - cosine, that rounding may leave


def look_at_split(subject: Subject, sheet: Sheet) -> None:
    """Compare one accumulated step of the Trainer, whole and in parts."""
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
        even = take_rows(batch, list(range(num_rows(batch) // count * count)))
        whole = _gradient(subject, [even])
        split = _gradient(subject, _parts_of(even, count))
        if not float(whole.norm()) or not bool((whole + split).isfinite().all()):
            sheet.miss("split and whole", "the gradient is 0 or not finite")
            sheet.doubt("the gradient of the first rows is 0 or not finite")
        elif not _are_alike(whole, split) and (why := _why_apart(subject, even, whole)):
            sheet.miss("split and whole", why)
        else:
            smoothing = getattr(subject.args, "label_smoothing_factor", 0.0)
            is_scaled_away = subject.steps_by_rate and not subject.has_own_loss and not smoothing
            _judge(whole, split, count, sheet, smoothing, is_scaled_away=is_scaled_away)


def _why_apart(subject: Subject, batch: Any, whole: Tensor) -> str:
    """Why a split changes the gradient of a sound run as well; "" where nothing says so.

    A loss that is a sum or a mean over rows or tokens has a gradient that is made of those of its
    parts, with whatever weights; one that compares the rows of a batch has another.
    """
    if any(isinstance(m, batch_norms()) for m in subject.model.modules()):
        return "batch norms take their numbers from the micro-batch"
    if float((_gradient(subject, [batch]) - whole).norm()) > SAME * float(whole.norm()):
        return "two passes over one batch differ anyway, as with dropout"
    parts_PN = torch.stack([_gradient(subject, [part]) for part in _parts_of(batch, 2)], 1)
    weights_N = torch.linalg.pinv(parts_PN.T @ parts_PN) @ (parts_PN.T @ whole)
    is_made_of_them = _cosine(parts_PN @ weights_N, whole) > 1 - SAME
    return "" if is_made_of_them else "the loss holds the rows of a batch against each other"


def _are_alike(whole: Tensor, split: Tensor) -> bool:
    ratio = float(split.norm() / whole.norm())
    return abs(ratio - 1) <= SAME and _cosine(whole, split) >= 1 - SAME


def _against_the_model(subject: Subject, sheet: Sheet) -> None:
    """The gradient of a loop's own loss, beside that of a mean over all tokens of the batch."""
    batch, model = subject.batch, subject.model

    def by(loss: Tensor) -> Tensor:
        model.zero_grad()
        loss.backward()
        return _vector(model)

    loop = by(subject.loss_of(keep(batch)))
    tokens = by(model(**subject.batch_at_model()).loss)
    cosine, ratio = _cosine(loop, tokens), float(loop.norm() / tokens.norm())
    said = (
        f"gradient of this loss and of the mean over all tokens of the batch: cosine {cosine:.3f}"
    )
    if 1 - cosine > SAME / 4 and (found := _micro_batches(by, loop, 1 - cosine, subject)):
        _is_mean_of_means(batch, *found, said, sheet)
    elif cosine > 1 - SAME and (what := _is_sum(batch, ratio)):
        sheet.show("loss over tokens", f"{said}, {ratio:.4g} times as long: a sum over its {what}")
    elif cosine > 1 - SAME and ratio > 1.5:
        sheet.find(
            "split_changes_loss",
            MEASURED,
            said,
            place="num_items_in_batch",
            why=f"the gradient has the right direction and is {ratio:.3g} times as long as that of "
            "the mean over all tokens",
        )
    else:
        sheet.show("loss over tokens", f"{said}, {ratio:.3g} times as long")


def _is_sum(batch: Mapping, ratio: float) -> str:
    """What a loss adds up: that is a choice, of which clipping and Adam leave nothing."""
    labels = batch["labels"][:, 1:] if batch["labels"].dim() > 1 else batch["labels"]
    counts = {"tokens": int((labels != IGNORED).sum()), "rows": num_rows(batch)}
    return next((of for of, n in counts.items() if n > 1 and abs(ratio / n - 1) < SAME), "")


def _is_mean_of_means(batch: Mapping, size: int, near: float, said: str, sheet: Sheet) -> None:
    rows = "one row" if size == 1 else f"{size} rows"
    sheet.find(
        "split_changes_loss",
        MEASURED + 1,
        said,
        f"and of the means over the tokens of {rows}, averaged: cosine {near:.3f}",
        place="num_items_in_batch",
        why=f"the loss is a mean of means over micro-batches of {rows}, so a token weighs less "
        "the more tokens stand with it",
        advice="add up the losses of the tokens and divide once, by the number of tokens of "
        "the whole step (num_items_in_batch)",
        specimen=_weights_of_tokens(batch, size),
    )


def _micro_batches(
    by: Callable[[Tensor], Tensor], loop: Tensor, gap: float, subject: Subject
) -> tuple[int, float] | None:
    """The micro-batches whose averaged means give this gradient, and the cosine."""
    count = num_rows(subject.batch)
    for size in (size for size in range(1, count) if count % size == 0):
        parts = _parts_of(subject.batch_at_model(), count // size)
        near = _cosine(loop, by(sum(subject.model(**part).loss for part in parts) / len(parts)))
        if 1 - near < gap / 20:
            return size, near
    return None


def _weights_of_tokens(batch: Mapping, size: int) -> tuple[str, ...]:
    """The weight of a token in the micro-batches with the fewest and the most labels."""
    labels = [part["labels"] for part in _parts_of(batch, num_rows(batch) // size)]
    counts = [int((one[:, 1:] != IGNORED).sum()) for one in labels]
    few, many = counts.index(min(counts)), counts.index(max(counts))
    whole = sum(counts)
    return tuple(
        f"micro-batch {at}: {counts[at]} learnt tokens, each weighs 1/{counts[at] * len(counts)} "
        f"of the step; over all tokens it would be 1/{whole}"
        for at in dict.fromkeys((few, many))
        if counts[at]
    )


def _cosine(a: Tensor, b: Tensor) -> float:
    return float(torch.cosine_similarity(a, b, dim=0))


def _vector(model: nn.Module) -> Tensor:
    grads = [p.grad.detach().flatten() for p in model.parameters() if p.grad is not None]
    return torch.cat(grads).double() if grads else torch.zeros(1, dtype=torch.float64)


def has_labels(batch: Any) -> bool:
    """Whether a model can compute a loss from this batch by itself."""
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
    num_items = num_items_of(trainer, batches)
    for batch in batches:
        trainer.training_step(trainer.model, keep(batch), num_items)
    return _vector(trainer.model)


def _judge(
    whole: Tensor,
    split: Tensor,
    count: int,
    sheet: Sheet,
    smoothing: float = 0.0,
    *,
    is_scaled_away: bool = False,
) -> None:
    """Compare the gradient of the parts with that of the whole batch.

    Args:
        is_scaled_away: whether the loss is a library's own and the optimizer's steps do not depend
            on its scale: what is left of a sum in place of a mean is that clipping comes sooner.
    """
    ratio = float(split.norm() / whole.norm())
    cosine = _cosine(whole, split)
    said = (
        f"one batch in {count} micro-batches: the gradient is {ratio:.3g} times as long as whole, "
        f"cosine {cosine:.4f}"
    )
    if _are_alike(whole, split):
        sheet.clear("split and whole", f"{said} (fine: within {SAME:.0%})")
        return
    is_sum = abs(ratio / count - 1) < NEARLY and cosine > 1 - SAME
    if is_sum and is_scaled_away:
        more = "a sum; the steps of this optimizer do not depend on it, clipping comes sooner"
        sheet.show("split and whole", f"{said}: {more}")
        return
    _not_the_same(count, said, smoothing, sheet, is_sum=is_sum)


def _not_the_same(count: int, said: str, smoothing: float, sheet: Sheet, *, is_sum: bool) -> None:
    smoothed = f" (label_smoothing_factor={smoothing:g} makes it this loss)" if smoothing else ""
    sheet.find(
        "split_changes_loss",
        COUNTED + 1.5 if is_sum else MEASURED + 1,  # steps that long make a run diverge
        f"{said}{smoothed}",
        place="gradient_accumulation_steps",
        why=f"the losses of the {count} micro-batches are added up and not divided by {count}"
        if is_sum
        else f"in {count} micro-batches the batch has another gradient than whole",
    )
