"""Judges what the watch saw of a run's numbers, and how the run ended."""

import math

import torch

from course_utils.causes import BY_NAME
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOPPED
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.explain import explain

RARE = 0.8  # of the steps had a gradient: the others are rare

LOSS_OR_LAYER = (
    "a formula of the loss (exp of a log-ratio, a division by 0, the std of one), or a layer; "
    "diagnose.watching(model, loss=...) names the operation"
)
FINITE_BEFORE = "a gradient is nan or inf while the forward pass before it is finite"


def judge_numbers_of_run(
    watch, error: BaseException | None, sheet: Sheet, steps: Steps | None = None
) -> None:
    """Write down the first number that was not finite, and the error that ended the run.

    Args:
        steps: those that were counted, to tell one batch without labels from a run without.
    """
    report = getattr(watch, "report", None)
    if report is not None and report.found:
        key = BY_NAME.get(report.kind, "operation_not_finite")
        alive = [one for one in (steps.numbers if steps else ()) if 0 < one.grad_norm < math.inf]
        if key == "labels_masked" and len(alive) > RARE * len(steps.numbers):
            said = f"{len(steps.numbers) - len(alive)} of {len(steps.numbers)} had no label"
            sheet.clear("batches without labels", said)
        else:
            _found(report, key, sheet)
    elif report is not None and report.is_clear:
        sheet.clear("losses, gradients, weights", f"finite in {watch.num_steps} steps")
    elif report is not None and watch.num_steps:
        sheet.miss("losses and gradients", report.headline)
    if error is not None and not (report is not None and report.found):
        _ended(error, sheet)


def _found(report, key: str, sheet: Sheet) -> None:
    if key == "operation_not_finite" and report.dtype == torch.float16:
        key = "fp16_overflow"
    place = report.module or report.operation
    if key == "nan_gradient":  # the watch saw the gradient alone, and knows of no operation
        said = report.headline.split("\n")[0]
        sheet.find(key, MEASURED, said, place=place, why=FINITE_BEFORE, rivals=LOSS_OR_LAYER)
        return
    said = report.headline.split("\n")[0]
    sheet.find(key, COUNTED, said, place=place, why=report.cause, advice=report.fix)


def _ended(error: BaseException, sheet: Sheet) -> None:
    """The last line of an error, as `course explain` reads it."""
    said = f"{type(error).__name__}: {error}".strip().split("\n")
    sheet.became(STOPPED, f"{type(error).__name__} ended the run")
    for line in (said[0], said[-1]):
        answer = explain([line, ""])
        if answer.causes:
            one = answer.causes[0]
            sheet.find(one.key, COUNTED, f"the run ended with {line[:200]}")
            return
    sheet.find("python_error", MEASURED, f"the run ended with {said[0][:200]}")
