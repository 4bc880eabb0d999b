"""Right and wrong answers of exercise 04.10."""

import math

import torch

from course_utils.exercises.lesson_04.unseen import (
    UNSEEN,
    entropy_with_zeros_before_the_product,
    mean_by_at_least_one,
    ratio_bounded_before_exp,
)
from course_utils.exercises.lesson_04.unseen_looks import (
    HEALTHY,
    alarm_names_the_replies,
    gradient_is_unchanged,
    names_the_cause,
    names_the_place,
    trained_it_lives,
    value_is_unchanged,
)
from course_utils.reproductions.lesson_04.unseen_04 import (
    NUM_TOKENS,
    distance_of_replies,
    entropy_of_positions,
    entropy_under_grammar,
    ratio_of_tokens,
    ratio_to_the_engine,
)
from tests.answers.forms import mends_of

# ------------------------------------------------------------------------------- the ratio


def ratio_masked_before_exp(logp, engine_logp, advantages, mask):
    return -torch.exp((logp - engine_logp) * mask).clamp(max=2.0) * advantages * mask


def ratio_chosen_before_exp(logp, engine_logp, advantages, mask):
    log_ratio = torch.where(mask == 1, logp - engine_logp, 0.0)
    return -torch.exp(log_ratio).clamp(max=2) * advantages * mask


def ratio_bounded_and_masked(logp, engine_logp, advantages, mask):
    log_ratio = torch.clamp(logp.float() - engine_logp.float(), max=20) * mask
    return -log_ratio.exp().clamp(max=2.0) * advantages * mask


def ratio_with_wide_bound(logp, engine_logp, advantages, mask):
    log_ratio = torch.clamp(logp - engine_logp, max=20)
    return torch.minimum(log_ratio.exp(), torch.tensor(2.0)) * -advantages * mask


def ratio_chosen_after_exp(logp, engine_logp, advantages, mask):
    ratio = torch.where(mask == 1, torch.exp(logp - engine_logp), 1.0)
    return -ratio.clamp(max=2.0) * advantages * mask


def ratio_without_inf(logp, engine_logp, advantages, mask):
    ratio = torch.exp(logp - engine_logp).nan_to_num(posinf=2.0)
    return -ratio.clamp(max=2.0) * advantages * mask


def ratio_with_a_hook(logp, engine_logp, advantages, mask):
    log_ratio = logp - engine_logp
    if log_ratio.requires_grad:
        log_ratio.register_hook(lambda gradient: gradient.nan_to_num(0.0, 0.0, 0.0))
    return -torch.exp(log_ratio).clamp(max=2.0) * advantages * mask


def ratio_left_out(logp, engine_logp, advantages, mask):
    return torch.zeros_like(logp) * advantages


def ratio_detached(logp, engine_logp, advantages, mask):
    return ratio_of_tokens(logp.detach(), engine_logp, advantages, mask)


def ratio_bounded_on_both_sides(logp, engine_logp, advantages, mask):
    return -(logp - engine_logp).clamp(-0.1, math.log(2)).exp() * advantages * mask


def ratio_never_truncated(logp, engine_logp, advantages, mask):
    return -torch.exp((logp - engine_logp) * mask) * advantages * mask


def ratio_with_a_gradient_beyond_two(logp, engine_logp, advantages, mask):
    weight = torch.exp((logp - engine_logp) * mask).clamp(max=2.0).detach()
    return -weight * (1 + logp - logp.detach()) * advantages * mask


def alarm_on_any_padding(logp, engine_logp, advantages, mask):
    return (mask == 0).any(1)


def alarm_on_far_padding_alone(logp, engine_logp, advantages, mask):
    return (torch.exp(logp - engine_logp).isinf() & ~mask.bool()).any(1)


def alarm_on_a_value(logp, engine_logp, advantages, mask):
    return ~ratio_to_the_engine(logp, engine_logp, advantages, mask).isfinite().all(1)


RATIO = {
    "right": (
        ratio_bounded_before_exp,
        ratio_of_tokens,
        ratio_bounded_and_masked,
        ratio_with_wide_bound,
    ),
    "still_dies": (
        ratio_chosen_after_exp,
        ratio_without_inf,
        ratio_left_out,
        ratio_detached,
    ),
    "other_value": (ratio_bounded_on_both_sides, ratio_never_truncated),
    "other_gradient": (
        ratio_with_a_gradient_beyond_two,
        ratio_with_a_hook,
        ratio_chosen_before_exp,
        ratio_masked_before_exp,
    ),
    "other_alarm": (alarm_on_any_padding, alarm_on_a_value, alarm_on_far_padding_alone),
}

# -------------------------------------------------------------------------------- the mean


def mean_by_chosen_length(logp, ref_logp, digits):
    length = digits.sum(1)
    length = torch.where(length > 0, length, torch.ones_like(length))
    return (0.5 * (logp - ref_logp) ** 2 * digits).sum(1) / length


def mean_with_small_number(logp, ref_logp, digits):
    return (0.5 * (logp - ref_logp).square() * digits).sum(1) / (digits.sum(1) + 1e-8)


def mean_without_nan(logp, ref_logp, digits):
    total = (0.5 * (logp - ref_logp).square() * digits).sum(1)
    return (total / digits.sum(1)).nan_to_num(0.0)


def mean_filled_afterwards(logp, ref_logp, digits):
    length = digits.sum(1)
    total = (0.5 * (logp - ref_logp).square() * digits).sum(1)
    return (total / length).masked_fill(length == 0, 0.0)


def mean_left_out(logp, ref_logp, digits):
    return torch.zeros(len(logp))


def mean_over_all_positions(logp, ref_logp, digits):
    return (0.5 * (logp - ref_logp).square() * digits).sum(1) / NUM_TOKENS


def mean_with_one_more(logp, ref_logp, digits):
    return (0.5 * (logp - ref_logp).square() * digits).sum(1) / (digits.sum(1) + 1)


def mean_over_the_batch(logp, ref_logp, digits):
    return (0.5 * (logp - ref_logp).square() * digits).sum() / digits.sum().clamp(min=1)


def mean_detached(logp, ref_logp, digits):
    return distance_of_replies(logp, ref_logp, digits).detach()


def mean_with_double_gradient(logp, ref_logp, digits):
    value = distance_of_replies(logp, ref_logp, digits)
    return 2 * value - value.detach()


def alarm_on_one_digit(logp, ref_logp, digits):
    return digits.sum(1) <= 1


def alarm_on_any_missing_digit(logp, ref_logp, digits):
    return (digits == 0).any(1)


MEAN = {
    "other_alarm": (alarm_on_one_digit, alarm_on_any_missing_digit),
    "right": (
        mean_by_at_least_one,
        distance_of_replies,
        mean_by_chosen_length,
        mean_with_small_number,
    ),
    "still_dies": (mean_without_nan, mean_filled_afterwards),
    "other_value": (
        mean_left_out,
        mean_over_all_positions,
        mean_with_one_more,
        mean_over_the_batch,
    ),
    "other_gradient": (mean_detached, mean_with_double_gradient),
}

# ----------------------------------------------------------------------------- the entropy


def entropy_by_logsumexp(logits, allowed):
    logits = torch.where(allowed, logits, torch.finfo(logits.dtype).min / 2)
    return logits.logsumexp(-1) - (logits.softmax(-1) * logits).sum(-1)


def entropy_by_small_number(logits, allowed):
    p = torch.softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    return -(p * torch.log(p.clamp(min=1e-12))).sum(-1)


def entropy_of_torch(logits, allowed):
    masked = logits.masked_fill(~allowed, -math.inf)
    return torch.distributions.Categorical(logits=masked, validate_args=False).entropy()


def entropy_without_nan(logits, allowed):
    logp = torch.log_softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    return -(logp.exp() * logp).nan_to_num(0.0).sum(-1)


def entropy_filled_afterwards(logits, allowed):
    logp = torch.log_softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    return -(logp.exp() * logp).masked_fill(~allowed, 0.0).sum(-1)


def entropy_by_entr(logits, allowed):
    p = torch.softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    return torch.special.entr(p).sum(-1)


def entropy_left_out(logits, allowed):
    return torch.zeros(logits.shape[:-1])


def entropy_of_all_tokens(logits, allowed):
    return entropy_of_positions(logits, torch.ones_like(allowed))


def entropy_masked_weakly(logits, allowed):
    logp = torch.log_softmax(logits - 2.0 * ~allowed, dim=-1)
    return -(logp.exp() * logp).sum(-1)


def entropy_detached(logits, allowed):
    return entropy_under_grammar(logits.detach(), allowed)


def entropy_of_fixed_weights(logits, allowed):
    logp = torch.log_softmax(logits.masked_fill(~allowed, -1e9), dim=-1)
    return -(logp.exp().detach() * logp).sum(-1)


def alarm_on_a_silent_reply(logits, allowed):
    return (~allowed[:, 1]).any(-1)


ENTROPY = {
    "right": (
        entropy_with_zeros_before_the_product,
        entropy_of_positions,
        entropy_by_logsumexp,
        entropy_by_small_number,
        entropy_of_torch,
    ),
    "still_dies": (entropy_without_nan, entropy_filled_afterwards, entropy_by_entr),
    "other_value": (entropy_left_out, entropy_of_all_tokens, entropy_masked_weakly),
    "other_gradient": (entropy_detached, entropy_of_fixed_weights),
    "other_alarm": (alarm_on_a_silent_reply,),
}


# ------------------------------------------------------------------------------- the alarm


def alarm_by_autograd(exercise):
    term = exercise.case().terms[exercise.answer["place"]]

    def alarm(*args):
        leaf = args[0].detach().requires_grad_()
        (gradient,) = torch.autograd.grad(term(leaf, *args[1:]).sum(), leaf)
        return gradient.isnan().flatten(1).any(1)

    return alarm


def alarm_always(first, *others):
    return torch.ones(len(first), dtype=torch.bool)


def alarm_never(first, *others):
    return torch.zeros(len(first), dtype=torch.bool)


def alarm_as_one_bool(*args):
    return bool(torch.tensor(len(args)))


def _add(exercise, mends: dict) -> None:
    answers = mends_of(exercise)
    for mend in mends["right"][1:-1]:
        answers.right(mend)
    answers.right_in_capitals(mends["right"][-1])
    sound, other = (term for term in HEALTHY if term != exercise.answer["place"])
    answers.wrong({"place": other}, caught_by=names_the_place)
    for mend in mends["still_dies"]:
        answers.wrong(mend, caught_by=trained_it_lives)
    for mend in mends["other_value"]:
        answers.wrong(mend, caught_by=value_is_unchanged)
    for mend in mends["other_gradient"]:
        answers.wrong(mend, caught_by=gradient_is_unchanged)
    answers.right({"alarm": alarm_by_autograd(exercise)})
    answers.wrong({"alarm": "padding"}, caught_by=exercise.form)
    for alarm in (*mends["other_alarm"], alarm_always, alarm_never, alarm_as_one_bool):
        answers.wrong({"alarm": alarm}, caught_by=alarm_names_the_replies)
    answers.misdiagnoses(
        unmended=trained_it_lives,
        elsewhere={"place": sound},
        place=names_the_place,
        cause=names_the_cause,
    )


for _exercise, _mends in zip(UNSEEN.variants, (ENTROPY, MEAN, RATIO), strict=True):
    _add(_exercise, _mends)
