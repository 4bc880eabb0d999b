"""Writes down what the watch, a trace or an error says of a step: place, rows and the whole fix."""

import re

import torch

from course_utils.causes import BY_NAME
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.nonfinite import crashes
from course_utils.diagnostics.nonfinite.batches import num_rows
from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.explain import explain

CLIPS = "clip_grad_norm_"
IN_BATCH = re.compile(r"\w+\[\d[\d, ]*\]")  # such as input_ids[0, 3]
LIBRARY = re.compile(r"(transformers|trl|peft|accelerate|torch)/")
LINE = 90  # characters of a source line that a place shows

LOSS_OR_LAYER = (
    "a formula of the loss (exp of a log-ratio, a division by 0, the std of one), or a layer; "
    "diagnose.watching(model, loss=...) names the operation"
)
FINITE_BEFORE = "a gradient is nan or inf while the forward pass before it is finite"
SMOOTHED = (
    "; label_smoothing_factor={0:g} asks for a share of every choice, also of those at -inf",
    "label_smoothing_factor=0, or give forbidden choices a large negative score instead of -inf",
)


def write_fault(report: NonFiniteReport, sheet: Sheet, subject: Subject | None = None) -> None:
    """Write down what the watch or a trace names, with its place and its whole fix."""
    key = BY_NAME.get(report.kind, "operation_not_finite")
    if key == "operation_not_finite" and report.dtype == torch.float16:
        key = "fp16_overflow"
    said, *more = report.headline.split("\n")
    if report.step and report.origin is None:
        said = f"Step {report.step}: {said}"
    place = _place(report)
    if key == "nan_gradient":  # the watch saw the gradient alone, and knows of no operation
        sheet.find(key, MEASURED, said, place=place, why=FINITE_BEFORE, rivals=LOSS_OR_LAYER)
        return
    why, fix = report.cause, report.fix
    smoothing = getattr(getattr(subject, "args", None), "label_smoothing_factor", 0.0)
    if smoothing and "-inf" in f"{said} {why}":
        why, fix = why + SMOOTHED[0].format(smoothing), SMOOTHED[1]
    # An own line or a number of the batch says more than a look before it; a library's line less.
    is_own = report.line and not LIBRARY.match(report.line)
    weight = COUNTED + 0.5 if is_own or IN_BATCH.match(report.cause) else COUNTED
    sheet.find(key, weight, said, *more, place=place, why=why, advice=fix)


def _place(report: NonFiniteReport) -> str:
    """The numbers of the batch, the module, the line, the micro-batch and the rows."""
    in_batch = IN_BATCH.match(report.cause)
    of = f" of {report.num_micro_batches}" if report.num_micro_batches else ""
    size = num_rows(report.batch) if report.rows else 0
    rows = ", ".join(map(str, report.rows[:4]))
    return ", ".join(
        filter(
            None,
            [
                in_batch[0] if in_batch else "",
                CLIPS if CLIPS in report.cause else "",
                report.module,
                report.line if len(report.line) < LINE else f"{report.line[:LINE]} ...",
                f"micro-batch {report.micro_batch}{of}" if report.micro_batch else "",
                f"row {rows} of the batch" if report.rows and len(report.rows) < size else "",
            ],
        )
    )


def name_error(error: Exception, subject: Subject, sheet: Sheet) -> bool:
    """Write down why a forward or backward pass on the first rows raised, if it is known."""
    if sheet.broken_forward:  # it is known that no forward pass can be taken here
        sheet.miss("one backward pass", sheet.broken_forward)
        return True
    sheet.broken_forward = f"{type(error).__name__}: {error}".split("\n")[0][:160]
    explained = crashes.explain(error, subject.batch, subject.target, {})
    if explained is not None:
        write_fault(explained, sheet, subject)
        return True
    return named_by_words(error, sheet, "one step on the first rows ends with", is_a_look=True)


def named_by_words(
    error: BaseException, sheet: Sheet, what: str, *, is_a_look: bool = False, place: str = ""
) -> bool:
    """Name the cause by the first or the last line of an error, as `course explain` reads it.

    Args:
        is_a_look: the error came in a look, and no run has ended by it.
        place: the line that raised it.
    """
    said = f"{type(error).__name__}: {error}".strip().split("\n")
    for line in (said[0], said[-1]):
        causes = [one for one in explain([line, ""]).causes if one.key != "python_error"]
        if causes:
            is_unknown = is_a_look and causes[0].key == "exception"
            why = f"one step on the first rows raises {line[:120]}" if is_unknown else ""
            sheet.find(causes[0].key, COUNTED, f"{what} {line[:200]}", place=place, why=why)
            return True
    return False
