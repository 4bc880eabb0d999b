"""Right and wrong answers of exercise 03.4."""

import torch

from course_utils.exercises.lesson_03 import survival
from course_utils.exercises.lesson_03.survival import (
    ADAMW,
    FLOAT16,
    FLOAT32,
    FUSED,
    SGD,
    rule_by_rounding,
)
from tests.answers import answers_of

right, wrong = answers_of(survival.RULE)


@right
def rule_by_threshold(dtype, optim, eps, head_trains):
    if not head_trains or optim != ADAMW or dtype != FLOAT16:
        return True
    return eps > torch.finfo(FLOAT16).smallest_normal * torch.finfo(FLOAT16).eps / 2


@right
def rule_by_own_step(dtype, optim, eps, head_trains):
    grad = torch.tensor([1e-3, 0.004]).to(dtype)
    m, v = 0.1 * grad, 0.001 * grad**2
    step = (m / 0.1) / ((v / 0.001).sqrt() + eps)
    return not head_trains or optim != ADAMW or bool(torch.isfinite(step).all())


@right
def rule_as_tensor(dtype, optim, eps, head_trains):
    lost = torch.tensor(eps, dtype=dtype) == 0
    return ~(lost & (optim == ADAMW) & head_trains)


@wrong(caught_by=survival.rule_optimizers)
def rule_not_float16(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or not head_trains


@wrong(caught_by=survival.rule_wide_formats)
def rule_eps_everywhere(dtype, optim, eps, head_trains):
    return eps > 6e-8 or not head_trains


@wrong(caught_by=survival.rule_eps)
def rule_smallest_subnormal(dtype, optim, eps, head_trains):
    return rule_by_rounding(dtype, optim, eps, head_trains) and (
        dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 5.96e-8
    )


@wrong(caught_by=survival.rule_eps)
def rule_from_the_tie(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 2.0**-25


@wrong(caught_by=survival.rule_eps)
def rule_below_the_tie(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps > 2.95e-8


@wrong(caught_by=survival.rule_eps)
def rule_above_the_tie(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps > 3e-8


@wrong(caught_by=survival.rule_eps)
def rule_default_eps(dtype, optim, eps, head_trains):
    return not (dtype == FLOAT16 and optim == ADAMW and head_trains and eps == 1e-8)


@wrong(caught_by=survival.rule_eps)
def rule_large_eps(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 1e-6


@wrong(caught_by=survival.rule_eps)
def rule_above_the_second(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 9.5e-8


@wrong(caught_by=survival.rule_eps)
def rule_from_1e_7(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 1e-7


@wrong(caught_by=survival.rule_eps)
def rule_within_the_border(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps > 7e-8


@wrong(caught_by=survival.is_true_or_false)
def rule_or_none(dtype, optim, eps, head_trains):
    return True if rule_by_rounding(dtype, optim, eps, head_trains) else None


@wrong(caught_by=survival.rule_eps)
def rule_smallest_normal(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or optim != ADAMW or not head_trains or eps > torch.finfo(dtype).tiny


@wrong(caught_by=survival.rule_frozen)
def rule_ignores_frozen(dtype, optim, eps, head_trains):
    return rule_by_rounding(dtype, optim, eps, True)


@wrong(caught_by=survival.rule_frozen)
def rule_frozen_float16(dtype, optim, eps, head_trains):
    return rule_by_rounding(dtype, optim, eps, True) and (head_trains or dtype != FLOAT16)


@wrong(caught_by=survival.rule_wide_formats)
def rule_only_float32(dtype, optim, eps, head_trains):
    return dtype == FLOAT32 or rule_by_rounding(FLOAT16, optim, eps, head_trains)


@wrong(caught_by=survival.rule_optimizers)
def rule_fused_too(dtype, optim, eps, head_trains):
    return not head_trains or optim == SGD or torch.tensor(eps, dtype=dtype).item() > 0


@wrong(caught_by=survival.rule_optimizers)
def rule_only_fused(dtype, optim, eps, head_trains):
    return optim == FUSED or rule_by_rounding(dtype, ADAMW, eps, head_trains)


@wrong(caught_by=survival.rule_wide_formats)
def rule_reversed(dtype, optim, eps, head_trains):
    return not rule_by_rounding(dtype, optim, eps, head_trains)


@wrong(caught_by=survival.is_true_or_false)
def rule_in_words(dtype, optim, eps, head_trains):
    return "survives" if rule_by_rounding(dtype, optim, eps, head_trains) else "dies"


@wrong(caught_by=survival.is_true_or_false)
def rule_by_printing(dtype, optim, eps, head_trains):
    print(rule_by_rounding(dtype, optim, eps, head_trains))
