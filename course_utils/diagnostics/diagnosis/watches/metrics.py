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

HEARD = (Loss.ROWS, Loss.TAGS, Loss.NEXT_TOKEN)
NAMES = ("accuracy", "acc")
APART, SAME = 0.02, 1e-4
FEWEST = 8  # labels


@dataclass
class Metrics:
    """What the metric said, and what its predictions say, evaluation by evaluation."""

    subject: Subject
    said: list[tuple[float, float]] = field(default_factory=list)
    unshifted: tuple[str, float, float] = ("", 0.0, 0.0)  # a number's name, and by the next token
    answers: tuple[int, int, int] = (0, 0, 0)  # rows, different answers, different labels

    @contextmanager
    def listening(self) -> Iterator[None]:
        trainer = self.subject.trainer
        metric = getattr(trainer, "compute_metrics", None)
        is_plain = not getattr(self.subject.args, "batch_eval_metrics", False)
        if metric is None or not is_plain or self.subject.loss not in HEARD:
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
        if self.subject.loss is Loss.NEXT_TOKEN:
            self._by_tokens(answers, labels, found)
            return
        counted = labels != IGNORED
        right = float((answers == labels)[counted].mean())
        self.answers = (
            int(counted.sum()),
            len(np.unique(answers[counted])),
            len(np.unique(labels[counted])),
        )
        picked = _picked(logits, labels)
        for name, value in found.items():
            if name.removeprefix("eval_") in NAMES and isinstance(value, int | float):
                is_of_blocks = picked is not None and abs(value - picked) < SAME
                self.said.append((float(value), picked if is_of_blocks else right))

    def _by_tokens(self, answers: np.ndarray, labels: np.ndarray, found: dict) -> None:
        """A number that is the share right at the same place, where logits are of the next token.

        Where the rows' labels are shifted already, that place is theirs, and more are right there.
        Shapes: answers and labels (N, T).
        """
        here = float((answers == labels)[labels != IGNORED].mean())
        targets = labels[:, 1:]
        next_one = float((answers[:, :-1] == targets)[targets != IGNORED].mean())
        for name, value in found.items():
            is_it = isinstance(value, int | float) and abs(value - here) < SAME
            if is_it and next_one > here + APART:
                self.unshifted = (name, value, next_one)

    def judge(self, sheet: Sheet) -> None:
        if self.unshifted[0]:
            self._judge_tokens(sheet)
            return
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

    def _judge_tokens(self, sheet: Sheet) -> None:
        name, value, next_one = self.unshifted
        sheet.find(
            "metric_not_as_named",
            MEASURED + 0.5,
            f"{name} is {value:.3g}: the share of labels that the logits at the same place give; "
            f"those one place before give {next_one:.3g}",
            place="compute_metrics",
            why="the metric compares each token's logits with that token, and they are of the next",
            advice="predictions[:, :-1] against label_ids[:, 1:], without -100",
        )


def _picked(logits: np.ndarray, labels: np.ndarray) -> float | None:
    """Of blocks of neighbouring rows, one of which is right: how often it has the largest score.

    None where the labels, (N,), do not form such blocks, or logits (N, 2) are of other classes.

    >>> _picked(np.array([[0, 2], [0, 1], [0, 3], [0, 4]]), np.array([1, 0, 1, 0]))
    0.5
    """
    rights = int(labels.sum())
    size = len(labels) // rights if rights > 0 else 0
    if logits.shape[1:] != (2,) or size < 2 or size * rights != len(labels):
        return None
    blocks = labels.reshape(rights, size)
    if not ((blocks == 1).sum(1) == 1).all() or not ((blocks == 0) | (blocks == 1)).all():
        return None
    scores = (logits[:, 1] - logits[:, 0]).reshape(rights, size)
    return float((scores.argmax(1) == blocks.argmax(1)).mean())
