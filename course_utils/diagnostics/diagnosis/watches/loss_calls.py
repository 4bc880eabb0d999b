"""Listens to the loss functions that a run calls, for what they are given."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F

from course_utils.diagnostics.diagnosis.measures.batch_scores import copies_in, judge_copies
from course_utils.diagnostics.diagnosis.measures.heard_losses import (
    FUNCTIONS,
    MOST,
    SOFTMAXES,
    HeardLosses,
)
from course_utils.diagnostics.diagnosis.measures.loss_inputs import TAKES, LossInputs, sums_to_one
from course_utils.diagnostics.diagnosis.measures.losses_given import judge_losses
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, TRAINING, Subject
from course_utils.diagnostics.diagnosis.watches.row_order import RowOrder


@dataclass
class LossCalls:
    """In a loop of one's own, the first calls of torch's loss functions.

    Of a Trainer with a loss of one's own, how many texts of its first batches come twice there.
    """

    subject: Subject
    heard: HeardLosses = field(default_factory=HeardLosses)
    inputs: LossInputs = field(default_factory=LossInputs)
    order: RowOrder | None = None  # which rows come in which order
    copies: list[float | None] = field(default_factory=list)  # shares of the texts of a batch

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.kind == TRAINING and self.subject.has_own_loss:
            with patch.object(F, "cross_entropy", self._counted(F.cross_entropy)):
                yield
            return
        if self.subject.kind != LOOP:
            yield
            return
        with ExitStack() as stack:
            for function, name in FUNCTIONS.items():
                stack.enter_context(patch.object(F, name, self._heard(function, name)))
            for function, (home, name) in SOFTMAXES.items():
                stack.enter_context(patch.object(home, name, self._softmax(function, name)))
            stack.enter_context(self.heard.passes(self.subject.model))
            yield

    def _heard(self, function: Any, name: str) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._look(function, name, args, kwargs)
            return function(*args, **kwargs)

        return call

    def _counted(self, function: Any) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(self.copies) < MOST and torch.is_grad_enabled():
                with suppress(Exception):  # arguments of another form: nothing is said of them
                    given = args[0] if args else kwargs.get("input")
                    target = args[1] if len(args) > 1 else kwargs.get("target")
                    self.copies.append(copies_in(given, target))
            return function(*args, **kwargs)

        return call

    def _softmax(self, function: Any, name: str) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):  # arguments of another form: nothing is said of them
                self.heard.hear_softmax(name, args, kwargs)
            return function(*args, **kwargs)

        return call

    def _look(self, function: Any, name: str, args: tuple, kwargs: dict) -> None:
        if self.order is not None and name == "cross_entropy":
            with suppress(Exception):
                self.order.hear(args[1] if len(args) > 1 else kwargs.get("target"))
        before = len(self.heard.calls)
        try:
            self.heard.hear(name, args, kwargs)
            if len(self.heard.calls) == before or function not in TAKES:
                return
            if sums := sums_to_one(self.heard.calls[-1].given):
                self.inputs.wrong[function] = sums
        except Exception:  # arguments of another form: nothing is said of them
            return

    def judge(self, sheet: Sheet) -> None:
        if self.subject.kind != LOOP:  # the look before the run tells the rest
            judge_copies(self.copies, sheet)
            return
        self.inputs.judge(sheet)
        judge_losses(self.heard, self.subject, sheet)
