"""Listens to the loss functions that a loop calls, for what they are given."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import torch.nn.functional as F

from course_utils.diagnostics.diagnosis.looks.own_loss import judge_weights
from course_utils.diagnostics.diagnosis.measures.loss_inputs import TAKES, LossInputs, sums_to_one
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject

MOST = 8  # calls that are looked at


@dataclass
class LossCalls:
    """In a loop of one's own, the first calls of torch's loss functions."""

    subject: Subject
    inputs: LossInputs = field(default_factory=LossInputs)
    weights: list[tuple[Any, Any]] = field(default_factory=list)
    calls: int = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.kind != LOOP:
            yield
            return
        plain = {function.__name__: function for function in TAKES}
        for name, function in plain.items():
            setattr(F, name, self._heard(function))
        try:
            yield
        finally:
            for name, function in plain.items():
                setattr(F, name, function)

    def _heard(self, function: Any) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.calls < MOST and args:
                self.calls += 1
                self._look(function, args, kwargs)
            return function(*args, **kwargs)

        return call

    def _look(self, function: Any, args: tuple, kwargs: dict) -> None:
        try:
            if sums := sums_to_one(args[0]):
                self.inputs.wrong[function] = sums
            weight = kwargs.get("weight", args[2] if len(args) > 2 else None)
            if weight is not None and function is not F.kl_div and len(args) > 1:
                self.weights.append((args[1].detach(), weight.detach()))
        except Exception:  # arguments of another form: nothing is said of them
            return

    def judge(self, sheet: Sheet) -> None:
        self.inputs.judge(sheet)
        for targets, weight in self.weights[:1]:
            judge_weights(targets, weight, sheet)
