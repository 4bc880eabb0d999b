"""`diagnose`: the front door. Its arguments decide what is examined."""

from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from course_utils.diagnostics.diagnosis.deaths import sheet_of_death
from course_utils.diagnostics.diagnosis.folder import look_into
from course_utils.diagnostics.diagnosis.looks.order import look_after, look_before
from course_utils.diagnostics.diagnosis.looks.schedule import look_at_finished_schedule
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back, train_some
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.ride import Watching
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import NOT_BEGUN
from course_utils.diagnostics.diagnosis.sheet.subject import (
    Subject,
    flat_settings,
    of_parts,
    of_trainer,
)
from course_utils.diagnostics.processes.autopsy import Autopsy
from course_utils.errors import BadRequest, Unsupported


def diagnose(
    source: Any = None, *, steps: int = 0, probe_rewards: bool = False, **parts: Any
) -> Diagnosis:
    """Say what is wrong with a run, the likeliest cause first, or that nothing was found.

    Of the user's own code it calls the data set and the collator for the first 8 rows, twice at
    most, and the loss of a Trainer on them, 2 times (5 with gradient accumulation), and once more
    behind a run, if it is a loss of one's own; up to 3 times more where something looks wrong, also
    on 8 rows from all over the data set. It reads these rows once more for their chats, 32 pairs
    before and behind a run, 64 rows of a stream, and 4 as each of two workers would. Reward
    functions are called by `steps`, once per batch of replies as in training, and by
    `probe_rewards`. What they keep outside of themselves (a file, a bill) cannot be put back.

    Args:
        source: a Trainer (SFT, DPO, reward, GRPO, or transformers' own), a model, the folder of a
            checkpoint or a saved model, or what `run_in_child` says of a run that died.
        steps: of a Trainer, how many optimizer steps to take as well, after which everything is
            put back: weights, optimizer, schedule, random numbers, counters, log, bit for bit.
            0 takes none: it looks at data, weights, settings, one forward pass, and the log.
            A run that raises has its report as well, with the error in `.ended`.
        probe_rewards: call each reward function of a GRPO or RLOO trainer 13 times, with 4 replies
            each, to see what it pays for: right answers, empty replies, the prompt again.
        parts: for a model: `batch`, `loss` (a function of model and batch), `optimizer`,
            `tokenizer`, `sampler`, `reference`, `log`, `settings` (a mapping or a namespace),
            `served` (the merged or reloaded model, or a function that makes it, called after the
            run); or `model` itself.

    A run as it happens: `with diagnose.watching(trainer_or_model, ...) as run: ...`, then
    `run.report`; or `Trainer(..., callbacks=[DiagnoseCallback()])`.

    Raises:
        BadRequest: this is not a Trainer, model or folder.
        Unsupported: `steps` with several processes, or with a data set that is a stream.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1).requires_grad_(False)
    >>> diagnose(model).causes[0].key
    'nothing_trainable'
    """
    if isinstance(source, str | PathLike):
        sheet = Sheet()
        look_into(Path(source), sheet)
        return Diagnosis.of(f"the folder {source}", sheet)
    if isinstance(source, Autopsy):
        return Diagnosis.of("a run in a child process", sheet_of_death(source))
    subject = subject_of(source, probe_rewards=probe_rewards, **parts)
    if steps:
        return _with_steps(subject, steps)
    sheet = Sheet()
    look_before(subject, sheet)
    look_after(subject, sheet)
    with sheet.trying("the schedule"):
        look_at_finished_schedule(subject, sheet)
    sheet.miss("the run", NO_RUN[subject.trainer is None])
    if not subject.has_ended and not subject.log:
        sheet.became(NOT_BEGUN, "no step was taken")
        if not sheet.rows:
            sheet.doubt("only weights and settings were looked at: no row, no step, no log")
    return Diagnosis.of(subject.name, sheet)


NO_RUN = {
    False: "no step was taken; steps=20 takes some and puts everything back",
    True: "no step was watched; diagnose.watching(model, ...) around the loop does",
}


def subject_of(source: Any = None, *, probe_rewards: bool = False, **parts: Any) -> Subject:
    """Collects what is known about a Trainer, or about a model and its parts."""
    subject = _subject_of(source, **parts)
    subject.probe_rewards = probe_rewards
    return subject


def _subject_of(source: Any, **parts: Any) -> Subject:
    if hasattr(source, "training_step") and hasattr(source, "model"):
        subject = of_trainer(source)
        for name in ("sampler", "served", "reference", "tokenizer"):
            if parts.get(name) is not None:
                setattr(subject, name, parts[name])
        subject.settings = flat_settings(parts.get("settings"))
        return subject
    return of_parts(parts.pop("model", source), **parts)


def watching(
    source: Any = None, *, then: Callable[[Diagnosis], object] | None = None, **parts: Any
) -> Watching:
    """Ride along with a run: `with diagnose.watching(model, optimizer=optimizer, log=log) as run`.

    Args:
        source, parts: as for `diagnose`, `probe_rewards` among them.
        then: is called with the report when the block ends. Without it, `run.report` has it, and it
            is printed only where an exception ends the block, before that goes on.
    """
    return Watching(subject_of(source, **parts), then=then, prints_if_it_raises=True)


def _with_steps(subject: Subject, steps: int) -> Diagnosis:
    _require_one_process(subject)
    with put_back(subject):
        ride = Watching(subject)
        with suppress(Exception), ride:  # what ended the run stands in its report
            train_some(subject.trainer, steps)
        return ride.report


def _require_one_process(subject: Subject) -> None:
    if subject.trainer is None:
        raise BadRequest(
            "steps= needs a Trainer",
            why="only a Trainer knows how to take a step by itself",
            fix="write `with diagnose.watching(model, ...) as run:` around your loop",
        )
    data = getattr(subject.trainer, "train_dataset", None)
    if subject.args.world_size > 1 or not hasattr(data, "__len__"):
        is_several = subject.args.world_size > 1
        raise Unsupported(
            "steps= with several processes" if is_several else "steps= with a stream of data",
            why="these steps could not be put back"
            if not is_several
            else "all of them would have to take the steps together",
            fix="ride along instead: `with diagnose.watching(trainer) as run: trainer.train()`",
        )


diagnose.watching = watching
