"""Judges what the watch saw of a run's numbers, and the error that ended the run."""

import inspect
import math
import re
import traceback
from typing import Any

import torch

from course_utils.causes import BY_NAME
from course_utils.causes.harms import EVALUATION
from course_utils.diagnostics.diagnosis.sheet.faults import named_by_words, write_fault
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOPPED
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.libraries.trl import reward_names
from course_utils.diagnostics.nonfinite.coverage import ZEROED
from course_utils.diagnostics.nonfinite.places import own_line
from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.diagnostics.ranks.report import RanksReport

OF_PREDICTIONS = {
    "why": "the memory ended in an evaluation, which keeps the predictions of all batches on the "
    "device until its end",
    "advice": "preprocess_logits_for_metrics that keeps what the metric needs, "
    "eval_accumulation_steps=1, or no compute_metrics",
    "where": EVALUATION,
}
KEEPS_ALL = ("evaluation_loop", "prediction_loop")  # of transformers' Trainer
GATHERS = {
    *("nested_concat", "torch_pad_and_concatenate", "nested_numpify"),
    *("gather", "gather_for_metrics", "pad_across_processes"),  # of accelerate
}
OF_A_LIST = re.compile(r"'list' object has no attribute|string or bytes-like object, got 'list'")
RARE = 0.8  # of the steps had a gradient: the others are rare


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
            _ended(error, sheet, subject)


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


def _ended(error: BaseException, sheet: Sheet, subject: Subject | None) -> None:
    if _is_of_memory(error) and (frame := _frame_of_evaluation(error)):
        said = str(error).partition("\n")[0]
        sheet.find("cuda_memory", COUNTED, f"{frame}: {said[:200]}", place=frame, **OF_PREDICTIONS)
        return
    if subject is not None and _reads_messages(error, subject, sheet):
        return
    if not named_by_words(error, sheet, "the run ended with", place=own_line(error)):
        said = f"{type(error).__name__}: {error}".strip().split("\n")[0]
        sheet.find(
            "python_error", MEASURED, f"the run ended with {said[:200]}", place=own_line(error)
        )


def _reads_messages(error: BaseException, subject: Subject, sheet: Sheet) -> bool:
    """Name a reward function that takes text, and gets a reply as a list of messages."""
    paid = getattr(subject.trainer, "reward_funcs", ())
    functions = {
        getattr(inspect.unwrap(one), "__code__", None): name
        for one, name in zip(paid, reward_names(subject.trainer) if paid else (), strict=False)
    }
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    name = next((functions[code] for code in codes if code in functions), None)
    said = f"{type(error).__name__}: {error}"
    if name is None or not OF_A_LIST.search(said):
        return False
    sheet.find("reply_is_messages", COUNTED, f"the run ended with {said}", place=own_line(error))
    return True


def _is_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in str(error)


def _frame_of_evaluation(error: BaseException) -> str:
    """The function that collects predictions, if the error came while it did; else ""."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    loop = next((name for name in names if name in KEEPS_ALL), "")
    return loop if loop and GATHERS & set(names[names.index(loop) :]) else ""
