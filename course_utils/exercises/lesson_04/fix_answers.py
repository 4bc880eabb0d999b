"""Functions that people put into the settings of exercise 04.7, right and wrong."""

import torch

from course_utils.exercises.lesson_04.kl_answers import (
    kl_bounded_before_exp,
    kl_hiding_by_a_hook,
    kl_zero_if_one_is_far,
)
from course_utils.exercises.lesson_04.mean_answers import mean_by_where
from course_utils.reproductions.lesson_04 import verl_formulas


def bounded_kl(logprob, ref_logprob, kind):
    """k3 with a bound before exp, with the arguments that the loop gives."""
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


def bounded_if_k3(logprob, ref_logprob, kind):
    if kind == "low_var_kl":
        return kl_bounded_before_exp(logprob.float(), ref_logprob.float())
    return verl_formulas.kl_penalty(logprob, ref_logprob, kind)


def zero_kl(logprob, ref_logprob, kind):
    return torch.zeros_like(logprob)


def detached_kl(logprob, ref_logprob, kind):
    return bounded_kl(logprob.detach(), ref_logprob, kind)


def tiny_kl(logprob, ref_logprob, kind):
    return 1e-3 * bounded_kl(logprob, ref_logprob, kind)


def kl_without_nan(logprob, ref_logprob, kind):
    return verl_formulas.kl_penalty(logprob, ref_logprob, kind).nan_to_num()


def mean_of_nothing(values, mask):
    return 0 * mean_by_where(values.clamp(-100, 100), mask)


def zero_if_one_is_far(logprob, ref_logprob, kind):
    return kl_zero_if_one_is_far(logprob.float(), ref_logprob.float())


def kl_with_a_hook(logprob, ref_logprob, kind):
    return kl_hiding_by_a_hook(logprob, ref_logprob)
