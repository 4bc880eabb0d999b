"""Measures whether a run that got worse still knows the rows that it learnt first."""

import math
from statistics import fmean

from course_utils.diagnostics.diagnosis.measures.forward import evaluated
from course_utils.diagnostics.diagnosis.sheet.subject import TRAINING, Subject

SUMMARY = "train_runtime"


def losses_of(log: list[dict]) -> list[float]:
    """The losses of the steps of a Trainer's log, without the mean of the run at its end."""
    found = (row["loss"] for row in log if "loss" in row and SUMMARY not in row)
    return [float(v) for v in found if isinstance(v, int | float) and math.isfinite(v)]


def keeps_first_rows(subject: Subject) -> bool | None:
    """Whether the first rows have a loss nearer to the run's best than to its last ones.

    None where that cannot be measured: a loop, a policy, or a batch without labels.
    """
    losses = losses_of(subject.log)
    if subject.kind != TRAINING or len(losses) < 6 or subject.batch is None:
        return None
    with evaluated(subject.model):
        loss = getattr(subject.model(**subject.batch_at_model()), "loss", None)
    if loss is None:
        return None
    third = len(losses) // 3
    levels = [fmean(losses[i : i + third]) for i in (0, third)]
    return float(loss) < (min(levels) + fmean(losses[-third:])) / 2
