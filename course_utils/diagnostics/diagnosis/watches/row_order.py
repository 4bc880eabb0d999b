"""Watches the labels of each batch: whether rows come mixed, or one label after the other."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.classes import judge_class_numbers
from course_utils.diagnostics.diagnosis.measures.data_sets import labels_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, TRAINING, Subject
from course_utils.diagnostics.loss_kind import Loss

IGNORED = -100
FEWEST, WINDOWS, MOST = 64, 6, 8192  # rows; groups of rows that were read together; rows kept
WINDOW = 8  # rows, at least
TOO_MANY = 64  # different labels: they are amounts or words
ONE_SIDED = 0.75  # chance that two rows have one label: too alike to tell an order
BLOCKS = 0.5  # of the way from mixed rows, 0, to one label a batch, 1
LASTS = 0.25  # the same for neighbouring batches


@dataclass
class RowOrder:
    """The label of each row that was trained on, by batch."""

    subject: Subject
    given: list[list[int]] = field(default_factory=list)  # with the inputs
    heard: list[list[int]] = field(default_factory=list)  # by a loss function of a loop

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.kind == LOOP:
            handle = self.subject.model.register_forward_pre_hook(self._pass, with_kwargs=True)
            try:
                yield
            finally:
                handle.remove()
        elif self.subject.kind == TRAINING:
            with self._steps_of(self.subject.trainer):
                yield
        else:
            yield

    @contextmanager
    def _steps_of(self, trainer: Any) -> Iterator[None]:
        """In the block, the trainer's own training step shows its rows first."""
        step, own = trainer.training_step, vars(trainer).get("training_step")

        def seen(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):  # inputs of another form: nothing is said of them
                self._note(inputs, self.given)
            return step(model, inputs, *args, **kwargs)

        trainer.training_step = seen
        try:
            yield
        finally:
            if own is None:
                del trainer.training_step
            else:
                trainer.training_step = own

    def _pass(self, _module: Any, _args: tuple, kwargs: Mapping) -> None:
        if torch.is_grad_enabled():
            self._note(kwargs, self.given)

    def hear(self, targets: Any) -> None:
        """Note the targets of a loss function, one number a row."""
        if torch.is_grad_enabled():
            self._note({"labels": targets}, self.heard)

    def _note(self, inputs: Any, into: list[list[int]]) -> None:
        labels = inputs.get("labels") if isinstance(inputs, Mapping) else None
        if not isinstance(labels, Tensor) or labels.is_floating_point() or not labels.numel():
            return
        if len(into) * len(labels) > MOST or labels.dim() > 2:
            return
        if labels.dim() == 2:
            labels = _first_learnt(labels)
        if labels is not None and labels.dim() == 1:
            into.append(labels.tolist())

    def judge(self, sheet: Sheet) -> None:
        whole = labels_of(getattr(self.subject.trainer, "train_dataset", None))
        whole = whole if all(isinstance(one, int) for one in whole) else []
        judge_order(self.given or self.heard, whole, sheet)
        if self.subject.kind == LOOP and self.subject.loss is Loss.ROWS:
            seen = Counter(label for batch in self.given or self.heard for label in batch)
            judge_class_numbers(seen, self.subject.model, sheet)


def _first_learnt(labels_BT: Tensor) -> Tensor | None:
    """Of rows whose prompt is left out, the first token of the answer, (B,); else None."""
    learnt = labels_BT != IGNORED
    if bool(learnt[:, 0].any()) or not bool(learnt.any(1).all()):
        return None
    return labels_BT.gather(1, learnt.int().argmax(1, keepdim=True))[:, 0]


def judge_order(batches: Sequence[list[int]], whole: Sequence[int], sheet: Sheet) -> None:
    """Compare how alike the labels of one batch are with how alike those of all rows are.

    Args:
        whole: the labels of the data set, where they are known: a short run may see but one.
    """
    windows = [one for one in _windows(batches) if len(one) >= WINDOW]
    rows = [label for one in windows for label in one]
    labels = whole or rows
    if len(windows) < WINDOWS or len(rows) < FEWEST or len(set(labels)) > TOO_MANY:
        return
    by_chance = _alike(Counter(labels), Counter(labels))
    if by_chance > ONE_SIDED or len(set(labels)) < 2:
        return
    within = sum(map(_within, windows)) / len(windows)
    counts = [Counter(one) for one in windows]
    beside = sum(_alike(a, b) for a, b in pairwise(counts)) / (len(counts) - 1)
    block, lasts = ((one - by_chance) / (1 - by_chance) for one in (within, beside))
    said = (
        f"two rows of one batch have the same label with probability {within:.2f}, two of all rows "
        f"with {by_chance:.2f}; {len(windows)} batches"
    )
    if block < BLOCKS or lasts < LASTS:
        sheet.clear("labels by batch", said)
        return
    first, last = (", ".join(map(str, sorted(set(one)))) for one in (windows[0], windows[-1]))
    more = f"the first batch has the labels {first}; the last one {last}"
    sheet.find(
        "rows_in_order",
        COUNTED,
        said,
        more,
        place="the order of the rows: sampler, shuffle, stream",
        why="the rows come sorted by their label and are not shuffled: a batch has next to one "
        "label only, and the model forgets those of the batches before",
        advice="shuffle=True in the loader; for a stream, which no Trainer shuffles, "
        "stream.shuffle(seed=0, buffer_size=...) with a buffer that spans the labels, or a file "
        "that is shuffled",
    )


def _windows(batches: Sequence[list[int]]) -> list[list[int]]:
    """The batches; small ones are joined with those behind them."""
    found: list[list[int]] = []
    for batch in batches:
        if found and len(found[-1]) < WINDOW:
            found[-1] = found[-1] + batch
        else:
            found.append(list(batch))
    return found


def _within(labels: list[int]) -> float:
    """The chance that two different rows have the same label."""
    size = len(labels)
    return sum(n * (n - 1) for n in Counter(labels).values()) / (size * (size - 1))


def _alike(one: Counter, other: Counter) -> float:
    """The chance that a row of one and a row of the other have the same label."""
    return sum(n * other[label] for label, n in one.items()) / (one.total() * other.total())
