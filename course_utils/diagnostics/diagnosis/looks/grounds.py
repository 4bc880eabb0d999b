"""What the rules of a log ask of the run itself, beyond what the log says.

A log shows numbers, and not what the loss is, how the rate changes, or whether there is a
reference. Where the run is at hand, a rule whose grounds it lacks is not taken over.
"""

from collections.abc import Callable
from statistics import fmean
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.first_rows import keeps_first_rows, losses_of
from course_utils.diagnostics.diagnosis.measures.forward import evaluated
from course_utils.diagnostics.diagnosis.sheet.subject import (
    LOOP,
    PAIRS,
    RELEASE,
    SCORES,
    Subject,
)
from course_utils.diagnostics.loss_kind import Loss

FAR = 10  # times the training loss
SLACK = 0.1  # nats
NEARLY = 0.9  # of the rate that was asked for
SMALL = 20_000  # weights: a model from scratch, which bears large rates
GROUNDS: dict[str, Callable[[Subject], bool]] = {}


def needed_by(*causes: str) -> Callable[[Callable], Callable]:
    """Write causes on the function that asks for their grounds."""

    def write(asks: Callable[[Subject], bool]) -> Callable[[Subject], bool]:
        GROUNDS.update(dict.fromkeys(causes, asks))
        return asks

    return write


@needed_by("rate_unusual")
def _rate_is_not_judged_elsewhere(subject: Subject) -> bool:
    """The look at the settings knows the optimizer, and what is trained."""
    is_small = sum(p.numel() for p in subject.model.parameters()) < SMALL
    return subject.args is None and not is_small


@needed_by("wrong_reference")
def _has_reference(subject: Subject) -> bool:
    """Rewards of CPO, SimPO and ORPO are log-probs, and begin anywhere.

    Those of DPO begin away from 0 where the reference is meant to be another model.
    """
    if subject.reference_kl is not None and subject.reference_kl < RELEASE:
        return False
    return subject.trainer is None or subject.kind == PAIRS or subject.reference is not None


@needed_by("thrown_about")
def _begins_at_ln_2(subject: Subject) -> bool:
    """The losses of IPO, of hinges and of several terms begin elsewhere."""
    kinds = getattr(subject.args, "loss_type", "sigmoid")
    return kinds in ("sigmoid", ["sigmoid"])


@needed_by("loss_off_by_a_factor")
def _sums_micro_batches(subject: Subject) -> bool:
    """Without several micro-batches or processes a loss cannot be their sum."""
    parts = getattr(subject.args, "gradient_accumulation_steps", 2)
    return parts > 1 or subject.processes > 1


@needed_by("memorised")
def _is_worse_on_other_rows(subject: Subject) -> bool:
    """A low loss is memory only where held-out rows keep a good part of the first.

    A loss of one's own may be a distance to something that moves, and near 0 where the two meet.
    """
    if subject.has_own_loss:
        return False
    judged, trained = ([row[k] for row in subject.log if k in row] for k in ("eval_loss", "loss"))
    return bool(judged and trained) and judged[-1] > max(FAR * trained[-1], trained[0] / FAR)


@needed_by("rate_zero")
def _no_group_has_a_rate(subject: Subject) -> bool:
    """A log shows the rate of the first group of the optimizer alone."""
    return all(float(group["lr"]) == 0 for group in getattr(subject.optimizer, "param_groups", ()))


@needed_by("overfits")
def _keeps_its_last_weights(subject: Subject) -> bool:
    """Whoever stops at the best evaluation, and puts its weights back, has nothing to stop.

    Of a loop that is over, the loss of its rows tells: the last weights know them by heart.
    """
    best_is_loaded = getattr(subject.args, "load_best_model_at_end", False)
    if subject.was_put_back or best_is_loaded:
        return False
    losses = losses_of(subject.log)
    if subject.kind != LOOP or len(losses) < 6 or not has_labels(subject.batch):
        return True
    with evaluated(subject.model):
        now = getattr(subject.model(**subject.batch_at_model()), "loss", None)
    last = fmean(losses[-len(losses) // 3 :])
    return not (isinstance(now, Tensor) and float(now) > max(FAR / 3 * last, last + SLACK))


@needed_by("above_uniform")
def _knows_its_loss(subject: Subject) -> bool:
    """A loss of the user's own may be a sum; that of pairs or a distillation is none per token."""
    return subject.trainer is None or subject.logs_nats_per_token


@needed_by("rate_too_high")
def _forgets(subject: Subject) -> bool:
    """Steps that are too long undo what was learnt; harder rows leave the first rows known."""
    return keeps_first_rows(subject) is not True


@needed_by("margin_saturated", "collapse", "no_signal", "reward_pays_junk")
@needed_by("parts_apart", "proxy_rises_alone")
def _is_no_reward_model(subject: Subject) -> bool:
    """What a reward model calls rewards are its own scores, and no policy is paid with them."""
    return subject.kind != SCORES


@needed_by("resumed_without_state")
def _has_no_restarts(subject: Subject) -> bool:
    """A schedule with restarts warms up again by itself."""
    schedule = getattr(subject.args, "lr_scheduler_type", "")
    return "restart" not in str(getattr(schedule, "value", schedule))


@needed_by("schedule_ends_early")
def _has_come_to_its_end(subject: Subject) -> bool:
    """A run that was stopped has not seen the end of its schedule; rates of 0 are counted.

    A rate that rises to the end, and there is what was asked for, is meant so.
    """
    state = getattr(subject.trainer, "state", None)
    has_ended = state is None or state.global_step >= state.max_steps
    return has_ended and not _reaches_its_rate(getattr(subject.trainer, "lr_scheduler", None))


def _reaches_its_rate(schedule: Any) -> bool:
    """Whether the last rates of a schedule are those that its optimizer was given."""
    if not hasattr(schedule, "base_lrs"):
        return False
    pairs = list(zip(schedule.get_last_lr(), schedule.base_lrs, strict=False))
    return bool(pairs) and all(rate >= NEARLY * full > 0 for rate, full in pairs)


@needed_by("evaluation_cuts_replies")
def _has_no_look_of_its_own(subject: Subject) -> bool:
    """The look at the decoder counts the labels themselves."""
    return subject.trainer is None


@needed_by("at_chance")
def _is_of_pairs(subject: Subject) -> bool:
    """Of classes another look compares the loss with the labels' own frequencies."""
    return subject.trainer is None or subject.loss is not Loss.ROWS


def has_grounds(key: str, subject: Subject) -> bool:
    """Whether a log may name this cause for this run; asked only where the log shows it."""
    return key not in GROUNDS or GROUNDS[key](subject)
