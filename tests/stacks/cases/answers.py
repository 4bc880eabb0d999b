"""Each instrument on a run that `make` makes, and its answer in one form. Judges nothing."""

from collections.abc import Callable

import torch

from course_utils import diagnostics
from course_utils.errors import TrainingStopped

from .case import Seen

# Where a NaN was put into a weight, one of these is the first cause.
NAN_CAUSES = (
    *("nan_weights", "nan_already", "nan_from_the_start", "loaded_broken_weight"),
    *("operation_not_finite", "numbers_broken", "nan_gradient", "nan_shown_as_zero"),
)


def causes_of(report) -> Seen:
    """What a diagnosis or an audit found."""
    unseen = {what: str(why) for what, why in report.unseen.items()}
    return Seen([cause.key for cause in report.causes], unseen)


def is_same(comparison) -> Seen:
    """Whether two models were found to be the same."""
    return Seen([] if comparison.is_same else ["differs"])


def found_by(report) -> Seen:
    """Whether a watch or a trace found a number that is not finite."""
    return Seen(
        ["not finite"] if report.found else [], {"note": report.note} if report.note else {}
    )


def findings_of(report) -> Seen:
    """What `inspect_batch` says about a batch."""
    return Seen([str(finding) for finding in report.findings])


def diagnosed(make: Callable, **options) -> Seen:
    """A diagnosis before the run."""
    return causes_of(diagnostics.diagnose(make(), **options))


def diagnosed_after(make: Callable) -> Seen:
    """A diagnosis when the run has ended."""
    trainer = make()
    trainer.train()
    return causes_of(diagnostics.diagnose(trainer))


def called_back(make: Callable) -> Seen:
    """A diagnosis that rides along as a callback."""
    trainer = make()
    callback = diagnostics.DiagnoseCallback(trainer, quiet=True)
    trainer.add_callback(callback)
    trainer.train()
    return causes_of(callback.report)


def audited(make: Callable) -> Seen:
    return causes_of(diagnostics.audit_step(make()))


def inspected(make: Callable) -> Seen:
    return findings_of(diagnostics.inspect_batch(make()))


def watched(make: Callable) -> Seen:
    trainer = make()
    with diagnostics.watch(trainer, then=lambda report: None) as watching:
        trainer.train()
    return found_by(watching.report)


def guarded(make: Callable) -> Seen:
    trainer = make()
    diagnostics.NonFiniteGuard().attach(trainer)
    return stopped(trainer.train)


def stopped(train: Callable) -> Seen:
    """Whether the guard ended the run."""
    try:
        train()
    except TrainingStopped:
        return Seen(["stopped"])
    return Seen([])


def put_back(make: Callable) -> Seen:
    """Whether `steps=` leaves the weights and the losses of a later run bit for bit as they are."""
    alone = make()
    alone.train()
    looked_at = make()  # a Trainer sets the seed when it is made
    before = {name: value.clone() for name, value in looked_at.model.state_dict().items()}
    diagnostics.diagnose(looked_at, steps=3)
    after = looked_at.model.state_dict()
    moved = [name for name, value in after.items() if not torch.equal(value, before[name])]
    looked_at.train()
    return Seen(moved + ["other losses"] * (_losses(alone) != _losses(looked_at)))


def _losses(trainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
