"""Right and wrong answers of exercise 04.7."""

import torch

from course_utils.exercises.lesson_04 import fix
from course_utils.exercises.lesson_04.guard import step_if_finite
from course_utils.exercises.lesson_04.kl import kl_bounded_before_exp
from course_utils.exercises.lesson_04.mean import mean_by_where
from course_utils.reproductions.lesson_04 import verl_formulas
from course_utils.reproductions.lesson_04.verl_formulas import kl_penalty_0_4_1
from tests.answers import answers_of
from tests.answers.lesson_04.guard import step_never
from tests.answers.lesson_04.kl import kl_hiding_by_a_hook, kl_zero_if_one_is_far
from tests.answers.lesson_04.mean import mean_detached

right, wrong = answers_of(fix.FIX)


def bounded_if_k3(logprob, ref_logprob, kind):
    if kind == "low_var_kl":
        return kl_bounded_before_exp(logprob.float(), ref_logprob.float())
    return verl_formulas.kl_penalty(logprob, ref_logprob, kind)


def without_a_kind(logprob, ref_logprob):
    return fix.bounded_kl(logprob, ref_logprob, "low_var_kl")


def zero_kl(logprob, ref_logprob, kind):
    return torch.zeros_like(logprob)


def detached_kl(logprob, ref_logprob, kind):
    return fix.bounded_kl(logprob.detach(), ref_logprob, kind)


def tiny_kl(logprob, ref_logprob, kind):
    return 1e-3 * fix.bounded_kl(logprob, ref_logprob, kind)


def kl_without_nan(logprob, ref_logprob, kind):
    return verl_formulas.kl_penalty(logprob, ref_logprob, kind).nan_to_num()


def mean_of_nothing(values, mask):
    return 0 * mean_by_where(values.clamp(-100, 100), mask)


def zero_if_one_is_far(logprob, ref_logprob, kind):
    return kl_zero_if_one_is_far(logprob.float(), ref_logprob.float())


def kl_with_a_hook(logprob, ref_logprob, kind):
    return kl_hiding_by_a_hook(logprob, ref_logprob)


right({"use_remove_padding": True})
right(
    {
        "logits_dtype": torch.float32,
        "kl_penalty": bounded_if_k3,
        "masked_mean": mean_by_where,
        "may_step": step_if_finite,
    }
)
right({"kl_loss_type": "mse", "kl_penalty": fix.bounded_kl})
wrong({"response_length": 4}, caught_by=fix.FORM)
wrong({"seed": 1}, caught_by=fix.FORM)
wrong({"learning_rate": 1e-7}, caught_by=fix.FORM)
wrong({"kl_loss_typ": "mse"}, caught_by=fix.FORM)
wrong({"kl_penalty": "mse"}, caught_by=fix.FORM)
wrong({"kl_penalty": without_a_kind}, caught_by=fix.FORM)
wrong({"logits_dtype": "float8"}, caught_by=fix.FORM)
wrong({"kl_loss_coef": 0.0, "logits_dtype": "float32"}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"use_kl_loss": False}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_loss_type": "kl"}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_loss_type": "mse"}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_loss_type": "abs"}, caught_by=fix.kl_is_still_in_the_loss)
wrong(
    {"kl_loss_type": "mse", "kl_penalty": bounded_if_k3},
    caught_by=fix.kl_is_still_in_the_loss,
)
wrong({"kl_loss_coef": 0.0005}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_penalty": zero_kl}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_penalty": detached_kl}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_penalty": tiny_kl}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_penalty": zero_if_one_is_far}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"kl_penalty": kl_with_a_hook}, caught_by=fix.kl_is_still_in_the_loss)
wrong({"masked_mean": mean_detached}, caught_by=fix.means_are_still_means)
wrong({"masked_mean": mean_of_nothing}, caught_by=fix.means_are_still_means)
wrong({}, caught_by=fix.every_update_counts)
wrong({"grad_clip": 0.1}, caught_by=fix.every_update_counts)
wrong({"masked_mean": mean_by_where}, caught_by=fix.every_update_counts)
wrong({"kl_penalty": kl_penalty_0_4_1}, caught_by=fix.every_update_counts)
wrong({"kl_penalty": kl_without_nan}, caught_by=fix.every_update_counts)
wrong({"may_step": step_if_finite}, caught_by=fix.every_update_counts)
wrong({"may_step": step_never, "logits_dtype": "float32"}, caught_by=fix.every_update_counts)
wrong({"kl_loss_coef": 1e4, "logits_dtype": "float32"}, caught_by=fix.the_reward_rises)
