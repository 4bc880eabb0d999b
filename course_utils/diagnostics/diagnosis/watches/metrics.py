"""Watches compute_metrics: counts the accuracy once more, from the same predictions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, Loss

NAMES = ("accuracy", "acc")
APART = 0.02
FEWEST = 8  # labels


@dataclass
class Metrics:
    """What the metric said, and what its predictions say, evaluation by evaluation."""

    subject: Subject
    said: list[tuple[float, float]] = field(default_factory=list)
    answers: tuple[int, int, int] = (0, 0, 0)  # rows, different answers, different labels

    @contextmanager
    def listening(self) -> Iterator[None]:
        trainer = self.subject.trainer
        metric = getattr(trainer, "compute_metrics", None)
        is_plain = not getattr(self.subject.args, "batch_eval_metrics", False)
        if metric is None or not is_plain or self.subject.loss not in (Loss.ROWS, Loss.TAGS):
            yield
            return

        @wraps(metric)
        def heard(prediction: Any, *args: Any, **kwargs: Any) -> Any:
            found = metric(prediction, *args, **kwargs)
            try:
                self._compare(prediction, found)
            except Exception:  # predictions of another form: nothing is said of them
                self.answers = (0, 0, 0)
            return found

        trainer.compute_metrics = heard
        try:
            yield
        finally:
            trainer.compute_metrics = metric

    def _compare(self, prediction: Any, found: dict) -> None:
        logits, labels = prediction.predictions, np.asarray(prediction.label_ids)
        logits = np.asarray(logits[0] if isinstance(logits, tuple) else logits)
        if not np.issubdtype(labels.dtype, np.integer) or labels.size < FEWEST:
            return
        answers = logits.argmax(-1) if logits.ndim == labels.ndim + 1 else logits
        if answers.shape != labels.shape or (logits.ndim > labels.ndim and logits.shape[-1] < 2):
            return
        counted = labels != IGNORED
        right = float((answers == labels)[counted].mean())
        self.answers = (
            int(counted.sum()),
            len(np.unique(answers[counted])),
            len(np.unique(labels[counted])),
        )
        for name, value in found.items():
            if name.removeprefix("eval_") in NAMES and isinstance(value, int | float):
                self.said.append((float(value), right))

    def judge(self, sheet: Sheet) -> None:
        number, different, labels = self.answers
        if number and different == 1 < labels:
            sheet.doubt(f"all {number} rows of the last evaluation get one and the same answer")
        off = [(a, b) for a, b in self.said if min(abs(a - b), abs(a / 100 - b)) > APART]
        if not off or len(off) < len(self.said) / 2:
            if self.said:
                sheet.clear("accuracy", f"as counted from its predictions, {self.said[-1][1]:.3g}")
            return
        value, right = off[-1]
        sheet.find(
            "metric_not_as_named",
            MEASURED,
            f"compute_metrics says {value:.3g}, and {right:.3g} of its predictions are right (the "
            "largest logit against the label, without -100)",
            place="compute_metrics",
        )
