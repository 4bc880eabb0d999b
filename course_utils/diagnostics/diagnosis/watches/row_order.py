"""Watches the labels of each batch: whether rows come mixed, or one label after the other."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.classes import judge_class_numbers
from course_utils.diagnostics.diagnosis.looks.row_order import judge_order
from course_utils.diagnostics.diagnosis.measures.data_sets import labels_of
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, TRAINING, Subject
from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.loss_kind import Loss

IGNORED = -100
MOST = 8192  # rows that are kept


@dataclass
class RowOrder:
    """The label of each row that was trained on, by batch."""

    subject: Subject
    given: list[list[int]] = field(default_factory=list)  # with the inputs
    heard: list[list[int]] = field(default_factory=list)  # by a loss function of a loop

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.kind == LOOP:
            handle = self.subject.model.register_forward_pre_hook(
                Hook(self._pass), with_kwargs=True
            )
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
