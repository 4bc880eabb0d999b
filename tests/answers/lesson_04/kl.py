"""Right and wrong answers of exercise 04.3."""

import torch

from course_utils.exercises.lesson_04 import kl
from course_utils.exercises.lesson_04.kl import kl_bounded_before_exp
from course_utils.reproductions.lesson_04 import verl_formulas
from tests.answers import answers_of

right, wrong = answers_of(kl.KL)


@right
def kl_in_float32(logprob, ref_logprob):
    d = torch.clamp(ref_logprob.float() - logprob.float(), min=-20, max=20)
    return torch.clamp(torch.exp(d) - d - 1, max=10)


@right
def kl_bounded_above_only(logprob, ref_logprob):
    d = torch.minimum(ref_logprob - logprob, torch.tensor(10.0, dtype=logprob.dtype))
    return torch.expm1(d) - d


@right
def kl_going_on_straight(logprob, ref_logprob):
    d = ref_logprob - logprob
    near = d.clamp(max=5.0)
    slope = near.exp().detach() - 1  # beyond 5 the tangent goes on
    return (near.exp() - near - 1) + torch.relu(d - 5.0).clamp(max=50.0) * slope.clamp(max=50.0)


@right
def kl_with_two_wheres(logprob, ref_logprob):
    d = ref_logprob - logprob
    is_near = d < 9
    safe = torch.where(is_near, d, torch.zeros_like(d))
    return torch.where(is_near, safe.exp() - safe - 1, torch.full_like(d, 8000.0))


@wrong(caught_by=kl.gradient_is_finite)
def kl_as_in_0_2(logprob, ref_logprob):
    return verl_formulas.kl_penalty(logprob, ref_logprob, "low_var_kl")


@wrong(caught_by=kl.gradient_is_finite)
def kl_as_in_0_4_1(logprob, ref_logprob):
    return verl_formulas.kl_penalty_0_4_1(logprob, ref_logprob, "low_var_kl")


@wrong(caught_by=kl.value_is_finite)
def kl_unbounded(logprob, ref_logprob):
    d = ref_logprob - logprob
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.value_is_finite)
def kl_rounded_bound(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-11.09, 11.09)
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.gradient_is_finite)
def kl_without_nan(logprob, ref_logprob):
    return kl_unbounded(logprob, ref_logprob).nan_to_num(0.0, 10.0, 10.0).clamp(max=10)


@wrong(caught_by=kl.gradient_is_finite)
def kl_with_where(logprob, ref_logprob):
    d = ref_logprob - logprob
    return torch.where(d > 8, 10.0, torch.exp(d) - d - 1)


@wrong(caught_by=kl.gradient_is_finite)
def kl_of_lesson_01(logprob, ref_logprob):
    d = (ref_logprob.float() - logprob.float()).clamp(-20, 20)
    return d.exp() - d - 1


@wrong(caught_by=kl.never_pushes_away)
def kl_pushing_away(logprob, ref_logprob):
    d = ref_logprob - logprob
    ok = d < 10
    safe = torch.where(ok, d, torch.zeros_like(d))
    return torch.where(ok, safe.exp() - safe - 1, -d)


@wrong(caught_by=kl.never_pushes_away)
def kl_folding_back(logprob, ref_logprob):
    d = ref_logprob - logprob
    d = torch.where(d > 5, 10 - d, d).clamp(-5, 5)
    return d.exp() - d - 1


@wrong(caught_by=kl.gradient_is_k3s_nearby)
def kl_with_detached_ratio(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d.detach()) - d - 1


@wrong(caught_by=kl.gradient_is_k3s_nearby)
def kl_detached(logprob, ref_logprob):
    return kl_bounded_before_exp(logprob.detach(), ref_logprob)


@wrong(caught_by=kl.is_k3_nearby)
def kl_zero_if_one_is_far(logprob, ref_logprob):
    d = ref_logprob - logprob
    if (d.abs() > 2).any():
        d = d * 0
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.is_k3_nearby)
def kl_of_the_other_way(logprob, ref_logprob):
    d = (logprob - ref_logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.is_k3_nearby)
def kl_squared(logprob, ref_logprob):
    return 0.5 * (logprob - ref_logprob).clamp(-8, 8).square()


@wrong(caught_by=kl.is_k3_nearby)
def kl_bounded_tightly(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-1, 1)
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.is_k3_nearby)
def kl_that_is_zero(logprob, ref_logprob):
    return torch.zeros_like(logprob)


@wrong(caught_by=kl.gives_a_tensor_like_its_inputs)
def kl_averaged(logprob, ref_logprob):
    return kl_bounded_before_exp(logprob, ref_logprob).mean()


@wrong(caught_by=kl.gives_a_tensor_like_its_inputs)
def kl_as_a_number(logprob, ref_logprob):
    return kl_averaged(logprob, ref_logprob).item()


@wrong(caught_by=kl.is_k3_nearby)
def kl_tighter_if_one_is_far(logprob, ref_logprob):
    d = ref_logprob - logprob
    d = d.clamp(-1, 1) if (d.abs() > 11).any() else d
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.is_k3_nearby)
def kl_of_no_row_with_a_far_one(logprob, ref_logprob):
    d = ref_logprob - logprob
    d = torch.where((d.abs() > 2.1).any(-1, keepdim=True), 0.0, d) if d.dim() else d.clamp(-8, 8)
    return torch.exp(d) - d - 1


@wrong(caught_by=kl.value_is_finite)
def kl_plus_nothing(logprob, ref_logprob):
    return kl_bounded_before_exp(logprob, ref_logprob) + 0 * logprob.sum()


@wrong(caught_by=kl.gives_a_tensor_like_its_inputs)
def kl_hiding_by_a_hook(logprob, ref_logprob):
    d = ref_logprob - logprob
    if d.requires_grad:
        d.register_hook(lambda gradient: gradient.nan_to_num(0.0, 0.0, 0.0))
    return torch.clamp(torch.exp(d) - d - 1, max=10)
