"""Judges a resumed run: what it restored from its checkpoint besides the weights."""

import math

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.steps import Steps

ENOUGH = 5  # steps before the checkpoint: less is a trial


def judge_resumed(subject: Subject, steps: Steps, pace: Pace, sheet: Sheet) -> None:
    """Judge optimizer and data position of a run whose first step was not step 1."""
    if not pace.began_at or subject.trainer is None:
        return
    _optimizer(steps, pace.began_at, sheet)
    _rest(subject, steps, pace.began_at, sheet)
    with sheet.trying("the place in the data"):
        _place_in_data(subject, pace.began_at, sheet)


def _optimizer(steps: Steps, began_at: int, sheet: Sheet) -> None:
    before, after = steps.held_state
    if not after:
        return  # it keeps no state, as plain SGD
    said = f"optimizer state before step {began_at + 1}: {before} tensors; after it: {after}"
    if before:
        sheet.clear("resumed optimizer", said)
        return
    sheet.find(
        "resumed_without_state",
        COUNTED,
        said,
        f"learning rate in that step: {steps.numbers[0].lr:.2g}",
        place="optimizer, optimizer.pt",
        why=f"the run goes on at step {began_at + 1} with an empty optimizer",
        advice="keep optimizer.pt and scheduler.pt beside the weights (save_only_model=False)",
    )


def _rest(subject: Subject, steps: Steps, began_at: int, sheet: Sheet) -> None:
    """max_steps and epochs count from the first start, not from the checkpoint."""
    whole = getattr(subject.trainer.state, "max_steps", 0)
    if steps.num_steps > 1 or whole - began_at > 1 or began_at < ENOUGH:
        return
    sheet.find(
        "resumed_at_its_end",
        COUNTED,
        f"the checkpoint is of step {began_at}, and the run ends at step {whole}",
        f"steps that were taken behind it: {steps.num_steps}",
        place="max_steps, num_train_epochs",
        advice=f"max_steps={began_at} + the steps that are wanted behind it, or load the weights "
        "alone for a run of its own",
    )


def _place_in_data(subject: Subject, began_at: int, sheet: Sheet) -> None:
    """With ignore_data_skip an interrupted epoch starts again at its first row."""
    args, rows = subject.args, getattr(subject.trainer, "train_dataset", None)
    is_read_so = getattr(args, "ignore_data_skip", False) and subject.kind != POLICY
    if not is_read_so or not hasattr(rows, "__len__"):
        return
    size = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
    an_epoch = math.ceil(len(rows) / size)
    done = began_at % an_epoch
    if not done:
        sheet.clear("resumed data", f"step {began_at + 1} begins an epoch")
        return
    sheet.find(
        "resumed_without_state",
        MEASURED,
        f"an epoch has {an_epoch} steps of {size} rows; {done} of them were done before",
        place="ignore_data_skip",
        why=f"the run goes on at step {began_at + 1} and begins its epoch anew: the first "
        f"{min(done * size, len(rows))} rows are read twice",
        advice="ignore_data_skip=False",
    )
