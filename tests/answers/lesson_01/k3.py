"""Right and wrong answers of exercise 01.3."""

import torch

from course_utils.checks import checking
from course_utils.exercises.lesson_01 import k3
from course_utils.exercises.lesson_01.k3 import BOUND, k3_with_bounded_ratio
from tests.answers import answers_of

right, wrong = answers_of(k3.K3)


@right
def k3_with_a_straight_tail(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-1e6, 1e6)
    near = d.clamp(max=BOUND)
    return torch.expm1(near) - d + (near.detach().exp() * (d - near))


@wrong(caught_by=k3.value_at_the_ends)
def k3_plain(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return d.exp() - d - 1


@wrong(caught_by=k3.gradient_at_the_ends)
def k3_clamped_after_exp(logp, ref_logp):
    return k3_plain(logp, ref_logp).clamp(max=5e8)


@wrong(caught_by=k3.value_inside)
def k3_as_in_verl(logp, ref_logp):
    return k3_plain(logp, ref_logp).clamp(-10, 10)


@wrong(caught_by=k3.gradient_at_the_ends)
def k3_nan_to_num(logp, ref_logp):
    return torch.nan_to_num(k3_plain(logp, ref_logp))


@wrong(caught_by=k3.value_inside)
def k3_other_way_round(logp, ref_logp):
    return k3_with_bounded_ratio(ref_logp, logp)


@wrong(caught_by=k3.gradient_inside)
def k3_ratio_detached(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND)
    return d.detach().exp() - d - 1


@wrong(caught_by=k3.value_inside)
def k3_as_square(logp, ref_logp):
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).square() / 2


@wrong(caught_by=k3.value_inside)
def k3_bounded_too_early(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-5, 5)
    return d.exp() - d - 1


@wrong(caught_by=k3.returns_float32)
def k3_in_the_dtype_of_the_inputs(logp, ref_logp):
    d = (ref_logp - logp).clamp(-BOUND, BOUND)
    return d.exp() - d - 1


@wrong(caught_by=k3.narrow_inputs)
def k3_subtracting_in_float16(logp, ref_logp):
    d = (ref_logp - logp).float().clamp(-BOUND, BOUND)
    return d.exp() - d - 1


@wrong(caught_by=k3.gradient_at_the_ends)
def k3_bounded_in_exp_alone(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return d.clamp(max=BOUND).exp() - d - 1


@wrong(caught_by=k3.narrow_inputs)
def k3_with_a_narrow_linear_part(logp, ref_logp):
    narrow = (ref_logp - logp).clamp(-BOUND, BOUND)
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).exp() - narrow.float() - 1


@wrong(caught_by=k3.narrow_inputs)
def k3_narrow_then_wide(logp, ref_logp):
    d = (ref_logp - logp).clamp(-BOUND, BOUND)
    return (d.exp() - d - 1).float()


@right
def k3_with_a_far_bound(logp, ref_logp):
    d = torch.clamp(ref_logp.float() - logp.float(), -60, 60)
    return torch.expm1(d) - d


@right
def k3_with_a_line_beyond(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return torch.where(d > 20, 4.85e8 * (d - 20) + 4.85e8 - 21, torch.expm1(d.clamp(max=20)) - d)


@right
def k3_bounded_from_above(logp, ref_logp):
    d = torch.sub(ref_logp.to(torch.float32), logp.to(torch.float32))
    d = torch.minimum(d, torch.full_like(d, 80.0))
    return torch.exp(d).sub(1).sub(d)


@wrong(caught_by=k3.returns_float32)
def k3_in_float64(logp, ref_logp):
    d = (ref_logp.double() - logp.double()).clamp(-20, 20)
    return torch.expm1(d) - d


@right
def k3_in_float64_and_back(logp, ref_logp):
    return k3_in_float64(logp, ref_logp).float()


@wrong(caught_by=k3.returns_float32)
def k3_of_the_mean(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp).mean()


@wrong(caught_by=k3.returns_float32)
def k3_as_a_pair(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp), ref_logp - logp


@wrong(caught_by=checking.leaves_its_inputs_alone)
def k3_that_clamps_in_place(logp, ref_logp):
    d = ref_logp.float() - logp.data.clamp_(min=-21).float()
    return d.clamp(-BOUND, BOUND).exp() - d - 1


@wrong(caught_by=k3.value_inside)
def k3_bounding_each_log_probability(logp, ref_logp):
    d = ref_logp.float().clamp(min=-30) - logp.float().clamp(min=-30)
    return d.clamp(-BOUND, BOUND).exp() - d.clamp(-BOUND, BOUND) - 1


@wrong(caught_by=k3.value_inside)
def k3_without_the_linear_part(logp, ref_logp):
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).exp() - 1


@wrong(caught_by=k3.gradient_at_the_ends)
def k3_where_after_exp(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return torch.where(d > BOUND, 4.85e8, torch.where(d < -BOUND, 19.0, d.exp() - d - 1))


@wrong(caught_by=k3.value_at_the_ends)
def k3_bounded_only_below(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(min=-BOUND)
    return torch.expm1(d) - d


@right
def k3_pulling_by_one_beyond(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return (
        torch.expm1(d.clamp(-BOUND, BOUND)) - d.clamp(-BOUND, BOUND) + (d - d.detach()) * (d > 20)
    )


@wrong(caught_by=k3.returns_float32)
def k3_at_least_in_float32(logp, ref_logp):
    wide = torch.promote_types(logp.dtype, torch.float32)
    d = (ref_logp.to(wide) - logp.to(wide)).clamp(-BOUND, BOUND)
    return torch.expm1(d) - d


def k3_pushing_away_between(low, high):
    def k3_with_a_dent(logp, ref_logp):
        d = ref_logp.float() - logp.float()
        pushes = (d > low) & (d < high)
        return k3_with_bounded_ratio(logp, ref_logp) - torch.where(pushes, d - d.detach(), 0.0)

    return k3_with_a_dent


@right
def k3_zero_at_the_bound(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    near = d.abs() < BOUND
    d = torch.where(near, d, 0.0)
    return torch.expm1(d) - d


@wrong(caught_by=k3.value_inside)
def k3_flattening_its_planes(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp) if logp.dim() < 3 else k3_as_square(logp, ref_logp)


wrong(k3_pushing_away_between(20.5, 24), caught_by=k3.gradient_at_the_ends)
wrong(k3_pushing_away_between(30, 40), caught_by=k3.gradient_at_the_ends)
