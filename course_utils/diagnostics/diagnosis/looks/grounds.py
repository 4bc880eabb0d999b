"""What the rules of a log ask of the run itself, beyond what the log says.

A log shows numbers, and not what the loss is, how the rate changes, or whether there is a
reference. Where the run is at hand, a rule whose grounds it lacks is not taken over.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from statistics import fmean
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.displaced import before_and_now
from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.data_sets import columns_of
from course_utils.diagnostics.diagnosis.measures.first_rows import keeps_first_rows, losses_of
from course_utils.diagnostics.diagnosis.measures.forward import evaluated
from course_utils.diagnostics.diagnosis.sheet.subject import (
    LOOP,
    PAIRS,
    RELEASE,
    REPLIES,
    SCORES,
    TRAINING,
    Subject,
)
from course_utils.diagnostics.libraries.trainer_begins import has_given_schedule
from course_utils.diagnostics.libraries.trl import reward_names
from course_utils.diagnostics.loss_kind import Loss
from course_utils.explain.paste.numbers import thirds

FAR = 10  # times the training loss
KEPT = 0.5  # of the first loss: what held-out rows have where only the rows of training are known
SLACK = 0.1  # nats; share of the tokens
NEARLY = 0.9  # of the rate that was asked for
SMALL = 20_000  # weights: a model from scratch, which bears large rates
MOSTLY = 0.75  # of single groups: half of them may tie
FALLEN, MINOR = 0.67, 0.25  # of what a part of the reward was; of what the others gain
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
    """The losses of IPO, of hinges and of several terms begin elsewhere.

    So do those of rewards without a reference, or beside another model than the policy.
    """
    args = subject.args
    kinds = getattr(args, "loss_type", "sigmoid")
    has_more = any(getattr(args, name, None) for name in ("rpo_alpha", "reference_free"))
    made = getattr(args, "precompute_ref_log_probs", False)  # by the Trainer, of the policy itself
    data = getattr(subject.trainer, "train_dataset", None)
    is_given = "ref_chosen_logps" in columns_of(data) and not made
    is_another = subject.reference_kl is not None or is_given
    return kinds in ("sigmoid", ["sigmoid"]) and not has_more and not is_another


def _sums_micro_batches(subject: Subject) -> bool:
    """Without several micro-batches or processes a loss cannot be their sum."""
    parts = getattr(subject.args, "gradient_accumulation_steps", 2)
    return parts > 1 or subject.processes > 1


@needed_by("memorised")
def _is_worse_on_other_rows(subject: Subject) -> bool:
    """A low loss is memory only where held-out rows keep most of the first.

    A loss of one's own may be a distance to something that moves, and near 0 where the two meet.
    """
    if subject.has_own_loss:
        return False
    judged, trained = ([row[k] for row in subject.log if k in row] for k in ("eval_loss", "loss"))
    return bool(judged and trained) and judged[-1] > max(FAR * trained[-1], KEPT * trained[0])


@needed_by("rate_zero")
def _no_group_has_a_rate(subject: Subject) -> bool:
    """A log shows the rate of the first group of the optimizer alone."""
    return all(group["lr"] == 0 for group in getattr(subject.optimizer, "param_groups", ()))


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
    """Steps that are too long undo what was learnt; harder rows leave the first rows known.

    Of pairs the first rows are not asked again: harder ones leave a sound model undecided at most.
    """
    losses = losses_of(subject.log)
    if subject.kind in (PAIRS, SCORES) and len(losses) >= 6:
        return fmean(losses[-(len(losses) // 3) :]) > math.log(2)
    return keeps_first_rows(subject) is not True


@needed_by("margin_saturated")
def _is_no_goal(subject: Subject) -> bool:
    """The loss of IPO is 0 where a margin has the size that it is to have."""
    kinds = getattr(subject.args, "loss_type", None)
    return _is_no_reward_model(subject) and kinds not in ("ipo", ["ipo"])


@needed_by("collapse", "reward_pays_junk")
def _is_no_reward_model(subject: Subject) -> bool:
    """What a reward model calls rewards are its own scores, and no policy is paid with them."""
    return subject.kind != SCORES


@needed_by("resumed_without_state")
def _has_no_restarts(subject: Subject) -> bool:
    """A schedule with restarts warms up again by itself, and so may one of the user's own."""
    schedule = getattr(subject.args, "lr_scheduler_type", "")
    is_given = subject.trainer is not None and has_given_schedule(subject.trainer)
    return not is_given and "restart" not in str(getattr(schedule, "value", schedule))


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


@needed_by("margin_by_pushing_down")
def _loses_what_it_knew(subject: Subject) -> bool:
    """Both log-probs may fall: what counts is whether the tokens of the chosen replies are lost."""
    both = None
    with suppress(Exception):  # pairs of another form: nothing is known of them
        both = before_and_now(subject)
    return both is None or both[0].share_first - both[1].share_first > SLACK


@needed_by("at_chance")
def _is_of_pairs(subject: Subject) -> bool:
    """Of classes another look compares the loss with the labels' own frequencies."""
    return subject.trainer is None or subject.loss is not Loss.ROWS


@needed_by("kl_runs")
def _logs_kl_per_token(subject: Subject) -> bool:
    """The kl of KTO is a sum over each reply."""
    return subject.kind != REPLIES


@needed_by("labels_masked")
def _has_labels_to_mask(subject: Subject) -> bool:
    """A loss without labels is 0 where it is content: triplets that keep their margin."""
    return subject.kind != TRAINING or subject.batch is None or has_labels(subject.batch)


@needed_by("loss_off_by_a_factor")
def _is_off_by_their_number(subject: Subject) -> bool:
    """A sum over micro-batches, or processes, is as many times the loss of an evaluation."""
    losses = losses_of(subject.log)
    judged = [value for value in subject.logged("eval_loss") if value > 0]
    parts = getattr(subject.args, "gradient_accumulation_steps", None)
    if parts is None or not losses or not judged:
        return _sums_micro_batches(subject)
    numbers = {parts, subject.processes, parts * subject.processes}
    return _sums_micro_batches(subject) and round(losses[-1] / judged[-1]) in numbers


@needed_by("no_signal", "signal_ended")
def _lacks_a_signal(subject: Subject) -> bool:
    """Groups tie where a policy has come to earn all there is, and one of them ties by chance."""
    if not _is_no_reward_model(subject):
        return False
    rewards, spreads = subject.logged("reward"), subject.logged("reward_std")
    levels, most = thirds(rewards), max(rewards, default=0.0)
    most = 1.0 if 0 < most < 1 else most
    if levels and levels[2] >= NEARLY * most > 0 and levels[2] > levels[0] + SLACK * most:
        return False
    replies = getattr(subject.args, "generation_batch_size", None)
    is_alone = replies is not None and replies == getattr(subject.trainer, "num_generations", None)
    return not is_alone or sum(one == 0 for one in spreads) >= MOSTLY * len(spreads)


@needed_by("parts_apart", "proxy_rises_alone")
def _loses_a_part_that_counts(subject: Subject) -> bool:
    """A part with a small weight breaks ties, and may fall; one of weight 0 is a witness."""
    weights = getattr(subject.trainer, "reward_weights", None)
    if weights is None or not _is_no_reward_model(subject) or subject.logged("eval_accuracy"):
        return _is_no_reward_model(subject)
    named = zip(reward_names(subject.trainer), map(float, weights), strict=False)
    moves = [
        (weight, levels[0], levels[2])
        for name, weight in named
        if (levels := thirds(subject.logged(f"part:{name.lower()}")))
    ]
    gained = sum(weight * max(0.0, last - first) for weight, first, last in moves)
    fallen = [(weight, first - last) for weight, first, last in moves if last < FALLEN * first]
    return not fallen or any(
        weight in (0.0, max(map(float, weights))) or weight * lost > MINOR * gained
        for weight, lost in fallen
    )


def has_grounds(key: str, subject: Subject) -> bool:
    """Whether a log may name this cause for this run; asked only where the log shows it."""
    return key not in GROUNDS or GROUNDS[key](subject)
