"""Looks at images of a classifier that an augmentation mirrors, where labels name a side."""

import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NUM_ROWS, DRAWS = 8, 12  # rows, each of which is read several times
ALIKE, LESS = 0.9, 0.2  # correlation of two pictures
SIDES = (("left", "right"), ("west", "east"), ("clockwise", "counterclockwise"))


@speaks_for(Loss.ROWS, Loss.OTHER)  # of images and sounds too
def look_at_mirrored(subject: Subject, sheet: Sheet) -> None:
    """Read rows again: a row that comes mirrored has the label of the other side."""
    data, names = getattr(subject.trainer, "train_dataset", None), _names(subject)
    sides = next((pair for pair in SIDES if _name_both(names, pair)), None)
    has_images = isinstance(subject.batch, Mapping) and "pixel_values" in subject.batch
    if sides is None or not has_images or not hasattr(data, "__getitem__"):
        return
    with unchanged(data, subject.trainer.data_collator):
        rows = [[_image(data[n]) for _ in range(DRAWS)] for n in range(min(NUM_ROWS, len(data)))]
    mirrored = sum(any(_is_mirror(*two) for two in combinations(row, 2)) for row in rows)
    if not mirrored:
        return
    sheet.find(
        "mirrored_against_labels",
        COUNTED,
        f"{mirrored} of {len(rows)} rows come mirrored when they are read again, with the label of "
        "before",
        f"labels are named {', '.join(names[:4])}",
        place="train_dataset: the horizontal flip of its augmentation",
    )


def _names(subject: Subject) -> list[str]:
    names = getattr(getattr(subject.model, "config", None), "id2label", None) or {}
    return [str(name) for name in names.values()]


def _name_both(names: list[str], pair: tuple[str, str]) -> bool:
    words = {word for name in names for word in re.split(r"[\W_]+", name.lower())}
    return words.issuperset(pair)


def _image(row: Any) -> Tensor | None:
    value = row.get("pixel_values") if hasattr(row, "get") else None
    return torch.as_tensor(value).float() if value is not None else None


def _is_mirror(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether the second is the first one mirrored, and not the first one itself."""
    if one is None or other is None or one.shape != other.shape or one.dim() < 2:
        return False
    mirror = _alike(one.flip(-1), other)
    return mirror > max(ALIKE, _alike(one, other) + LESS)


def _alike(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])
