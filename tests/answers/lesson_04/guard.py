"""Right and wrong answers of exercise 04.6."""

import math

import torch

from course_utils.exercises.lesson_04 import guard
from tests.answers import answers_of

right, wrong = answers_of(guard.STEP)


@right
def step_if_below_inf(grad_norm):
    return grad_norm < float("inf")


@right
def step_by_math(grad_norm):
    return math.isfinite(grad_norm.item())


@right
def step_by_difference(grad_norm):
    return int(grad_norm - grad_norm == 0)


@wrong(caught_by=guard.refuses_nan)
def step_always(grad_norm):
    return True


@wrong(caught_by=guard.takes_healthy_steps)
def step_never(grad_norm):
    return False


@wrong(caught_by=guard.takes_healthy_steps)
def step_if_small(grad_norm):
    return grad_norm < 100


@wrong(caught_by=guard.takes_healthy_steps)
def step_if_it_fits_float16(grad_norm):
    return bool(grad_norm <= 65504)


@wrong(caught_by=guard.takes_healthy_steps)
def step_if_positive(grad_norm):
    return 0 < grad_norm.item() < math.inf


@wrong(caught_by=guard.refuses_inf)
def step_unless_nan(grad_norm):
    return not grad_norm.isnan()


@wrong(caught_by=guard.refuses_inf)
def step_if_equal_to_itself(grad_norm):
    return grad_norm == grad_norm


@wrong(caught_by=guard.refuses_nan)
def step_unless_inf(grad_norm):
    return not grad_norm.isinf()


@wrong(caught_by=guard.refuses_nan)
def step_unless_large(grad_norm):
    return not (grad_norm > 3.4e38)


@wrong(caught_by=guard.refuses_nan)
def step_compared_with_nan(grad_norm):
    return grad_norm.item() != float("nan") and grad_norm.item() != float("inf")


@wrong(caught_by=guard.says_yes_or_no)
def step_in_words(grad_norm):
    return "step" if torch.isfinite(grad_norm) else "skip"


@wrong(caught_by=guard.says_yes_or_no)
def step_prints(grad_norm):
    print(torch.isfinite(grad_norm))
