"""Judges what the watch saw of a run's numbers, and the error that ended the run."""

import math
import re
from typing import Any

import torch

from course_utils.causes import BY_NAME
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOPPED
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.nonfinite import crashes
from course_utils.diagnostics.nonfinite.batches import num_rows
from course_utils.diagnostics.nonfinite.coverage import ZEROED
from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.diagnostics.ranks.report import RanksReport
from course_utils.explain import explain

RARE = 0.8  # of the steps had a gradient: the others are rare
LINE = 90  # characters of a source line that a place shows
LIBRARY = re.compile(r"(transformers|trl|peft|accelerate|torch)/")
CLIPS = "clip_grad_norm_"
IN_BATCH = re.compile(r"\w+\[\d[\d, ]*\]")  # such as input_ids[0, 3]

LOSS_OR_LAYER = (
    "a formula of the loss (exp of a log-ratio, a division by 0, the std of one), or a layer; "
    "diagnose.watching(model, loss=...) names the operation"
)
FINITE_BEFORE = "a gradient is nan or inf while the forward pass before it is finite"
SMOOTHED = (
    "; label_smoothing_factor={0:g} asks for a share of every choice, also of those at -inf",
    "label_smoothing_factor=0, or give forbidden choices a large negative score instead of -inf",
)


def judge_numbers_of_run(
    watch: Any,
    error: BaseException | None,
    sheet: Sheet,
    steps: Steps | None = None,
    subject: Subject | None = None,
) -> None:
    """Write down the first number that was not finite, and the error that ended the run.

    Args:
        steps: those that were counted, to tell one batch without labels from a run without.
    """
    report = getattr(watch, "report", None)
    if isinstance(report, RanksReport):
        _judge_ranks(report, sheet)
    elif report is not None:
        _judge_watch(report, watch, sheet, steps, subject)
    if error is not None:
        first = f"{type(error).__name__}: {error}".strip().split("\n")[0]
        sheet.ended = first[:200]
        sheet.became(STOPPED, f"{type(error).__name__} ended the run")
        if not (report is not None and report.found):
            _ended(error, sheet)


def _judge_watch(
    report: NonFiniteReport, watch: Any, sheet: Sheet, steps: Steps | None, subject: Subject | None
) -> None:
    if report.found:
        is_whole_step = report.num_micro_batches in (None, 1)  # else it spoils the others
        is_masked = BY_NAME.get(report.kind) == "labels_masked" and is_whole_step
        if is_masked and (said := _is_harmless(steps)):
            sheet.clear("batches without labels", said)
        else:
            write_fault(report, sheet, subject)
    elif report.verdict is not None and report.verdict.kind == ZEROED.kind:
        why = f"{ZEROED.kind[0].lower()}{ZEROED.kind[1:]}: {ZEROED.why}"
        said = f"{watch.seen.num_zeroed} of {watch.num_steps} steps had a total norm of inf"
        place = "clip_grad_norm_ (max_grad_norm)"
        sheet.find("norm_overflows", COUNTED, said, place=place, why=why, advice=ZEROED.fix)
    elif report.is_clear:
        sheet.clear("losses, gradients, weights", f"finite in {watch.num_steps} steps")
    elif watch.num_steps:
        sheet.miss("losses and gradients", report.headline)


def _is_harmless(steps: Steps | None) -> str:
    """A few steps without a label whose gradients are finite; "" if they are no few, or nan."""
    norms = [one.grad_norm for one in steps.numbers] if steps else []
    alive = sum(0 < norm < math.inf for norm in norms)
    if alive <= RARE * len(norms) or not all(map(math.isfinite, norms)):
        return ""
    return f"{len(norms) - alive} of {len(norms)} had no label"


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


def _judge_ranks(report: RanksReport, sheet: Sheet) -> None:
    """Of a run on several processes: the rank that went bad first."""
    first = report.first
    if report.found and first is not None:
        micro = f", micro-batch {first.micro_batch}" if first.micro_batch else ""
        sheet.find(
            "nan_gradient",
            COUNTED + 0.5,
            report.headline,
            place=f"rank {first.rank}, step {first.step}{micro}",
            why=report.cause,
            advice=report.fix,
        )
    elif report.found:
        said = (report.headline,)
        sheet.find("nan_gradient", MEASURED, *said, why=report.cause, advice=report.fix)
    else:
        write = sheet.clear if all(one.num_steps for one in report.records) else sheet.miss
        write("losses and gradients of the ranks", report.headline)


def name_error(error: Exception, subject: Subject, sheet: Sheet) -> bool:
    """Write down why a forward or backward pass on the first rows raised, if it is known."""
    sheet.broken_forward = f"{type(error).__name__}: {error}".split("\n")[0][:160]
    explained = crashes.explain(error, subject.batch, subject.target, {})
    if explained is not None:
        write_fault(explained, sheet, subject)
        return True
    return _by_its_words(error, sheet, "one step on the first rows ends with")


def _ended(error: BaseException, sheet: Sheet) -> None:
    if not _by_its_words(error, sheet, "the run ended with"):
        said = f"{type(error).__name__}: {error}".strip().split("\n")[0]
        sheet.find("python_error", MEASURED, f"the run ended with {said[:200]}")


def _by_its_words(error: BaseException, sheet: Sheet, what: str) -> bool:
    """Name the cause by the first or the last line of an error, as `course explain` reads it."""
    said = f"{type(error).__name__}: {error}".strip().split("\n")
    for line in (said[0], said[-1]):
        causes = [one for one in explain([line, ""]).causes if one.key != "python_error"]
        if causes:
            sheet.find(causes[0].key, COUNTED, f"{what} {line[:200]}")
            return True
    return False
