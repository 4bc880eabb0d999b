"""What the rules of a log ask of the run itself, beyond what the log says.

A log shows numbers, and not what the loss is, how the rate changes, or whether there is a
reference. Where the run is at hand, a rule whose grounds it lacks is not taken over.
"""

from collections.abc import Callable

from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, SCORES, Subject
from course_utils.diagnostics.loss_kind import Loss


def _rate_is_not_judged_elsewhere(subject: Subject) -> bool:
    """The look at the settings knows the optimizer, and what is trained."""
    return subject.args is None


def _has_reference(subject: Subject) -> bool:
    """Rewards of CPO, SimPO and ORPO are log-probs, and begin anywhere."""
    return subject.trainer is None or subject.kind == PAIRS or subject.reference is not None


def _sums_micro_batches(subject: Subject) -> bool:
    """Without several micro-batches or processes a loss cannot be their sum."""
    parts = getattr(subject.args, "gradient_accumulation_steps", 2)
    return parts > 1 or subject.processes > 1


def _learns_text(subject: Subject) -> bool:
    """Text has an entropy that only memory removes; a class may be plain to see."""
    return subject.loss in (Loss.NEXT_TOKEN, Loss.SEQ2SEQ, Loss.OTHER)


def _has_no_restarts(subject: Subject) -> bool:
    """A schedule with restarts warms up again by itself."""
    schedule = getattr(subject.args, "lr_scheduler_type", "")
    return "restart" not in str(getattr(schedule, "value", schedule))


def _is_paid(subject: Subject) -> bool:
    """What a reward model calls rewards are its own scores, and nothing that a policy earns."""
    return subject.kind != SCORES


OF_REWARDS = ("collapse", "no_signal", "reward_pays_junk", "parts_apart", "proxy_rises_alone")
GROUNDS: dict[str, Callable[[Subject], bool]] = {
    "rate_unusual": _rate_is_not_judged_elsewhere,
    "wrong_reference": _has_reference,
    "loss_off_by_a_factor": _sums_micro_batches,
    "memorised": _learns_text,
    "resumed_without_state": _has_no_restarts,
    **dict.fromkeys(OF_REWARDS, _is_paid),
}


def groundless(subject: Subject) -> tuple[str, ...]:
    """The causes that a log may not name for this run."""
    return tuple(key for key, has_grounds in GROUNDS.items() if not has_grounds(subject))
