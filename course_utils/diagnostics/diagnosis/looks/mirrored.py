"""Looks at images of a classifier that an augmentation mirrors, where labels name a side, or where
a label's pictures, mirrored, are those of another."""

import re
from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.measures.spread_rows import spread_out
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NUM_ROWS, DRAWS = 8, 12  # rows, each of which is read several times
HELD, MOST = 256, 20  # rows of the evaluation; labels
ALIKE, LESS = 0.9, 0.2  # correlation of two pictures
SIDES = (("left", "right"), ("west", "east"), ("clockwise", "counterclockwise"))


@speaks_for(Loss.ROWS, Loss.OTHER)  # of images and sounds too
def look_at_mirrored(subject: Subject, sheet: Sheet) -> None:
    """Read rows again: a row that comes mirrored has the label of the other side."""
    data, names = getattr(subject.trainer, "train_dataset", None), _names(subject)
    has_images = isinstance(subject.batch, Mapping) and "pixel_values" in subject.batch
    if not has_images or not hasattr(data, "__getitem__"):
        return
    with unchanged(data, subject.trainer.data_collator):
        rows = _drawn_again(data)
    mirrored = sum(any(_is_mirror(*two) for two in combinations(row, 2)) for row in rows)
    is_named = any(_name_both(names, pair) for pair in SIDES)
    named = f"labels are named {', '.join(names[:4])}" if is_named else ""
    if not mirrored or not (told := named or _told_by_pictures(subject)):
        return
    sheet.find(
        "mirrored_against_labels",
        COUNTED,
        f"{mirrored} of {len(rows)} rows come mirrored when they are read again, with the label of "
        "before",
        told,
        place="train_dataset: the horizontal flip of its augmentation",
    )


def _drawn_again(data: Any) -> list[list[Tensor | None]]:
    """The pictures of the first rows, each read several times; [] where reading changes none."""
    rows: list[list[Tensor | None]] = []
    for n in range(min(NUM_ROWS, len(data))):
        rows.append([_image(data[n]) for _ in range(DRAWS)])
        if n == 1 and not any(map(_differ, rows)):
            return []
    return rows


def _differ(pictures: list[Tensor | None]) -> bool:
    first = pictures[0]
    return any(
        one is None or first is None or one.shape != first.shape or not torch.equal(one, first)
        for one in pictures[1:]
    )


def _told_by_pictures(subject: Subject) -> str:
    """That the mirrored mean picture of one label is the mean picture of another, in the rows of
    the evaluation; "" if not."""
    batch = spread_out(subject.trainer, getattr(subject.trainer, "eval_dataset", None), HELD)
    found = batch if isinstance(batch, Mapping) else {}
    images, labels = (found.get(name) for name in ("pixel_values", "labels"))
    if not isinstance(images, Tensor) or not isinstance(labels, Tensor) or labels.dim() != 1:
        return ""
    whole, classes = images.float().mean(0), labels.unique().tolist()
    if not 1 < len(classes) <= MOST:
        return ""
    means = {y: images[labels == y].float().mean(0) - whole for y in classes}
    level = whole.flip(-1) - whole
    for one, other in permutations(means, 2):
        mirror = means[one].flip(-1) + level
        if _alike(mirror, means[other]) > max(ALIKE, _alike(mirror, means[one]) + LESS):
            return f"mirrored, the pictures with label {one} are those with label {other}"
    return ""


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
