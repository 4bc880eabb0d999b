"""Right and wrong answers of exercise 10.5."""

import torch

from course_utils.exercises.lesson_10 import guard
from course_utils.exercises.lesson_10.guard import as_it_is, by_range
from tests.answers import answers_of

right, wrong = answers_of(guard.GUARD)


@right
def from_the_first(rewards):
    """Differences of equal numbers are exactly 0, and so is their mean; one has no std."""
    return as_it_is(rewards - rewards[:, :1]).nan_to_num(0.0)


@right
def in_float64(rewards):
    wide = as_it_is(rewards.double()).nan_to_num(0.0)
    return wide.masked_fill(wide.abs() < 1e-9, 0.0).to(rewards.dtype)


@right
def by_equality(rewards):
    same = (rewards == rewards[:, :1]).all(-1, keepdim=True)
    return as_it_is(rewards).masked_fill(same, 0.0)


@wrong(caught_by=guard.gives_a_tensor)
def a_list(rewards):
    return by_range(rewards).tolist()


@wrong(caught_by=guard.gives_a_tensor)
def stays_in_float64(rewards):
    return from_the_first(rewards.double())


@wrong(caught_by=guard.gives_a_tensor)
def one_a_group(rewards):
    return by_range(rewards).amax(-1)


@wrong(caught_by=guard.scales_as_grpo)
def over_the_batch(rewards):
    return from_the_first(rewards.reshape(1, -1)).reshape(rewards.shape)


@wrong(caught_by=guard.scales_as_grpo)
def biased(rewards):
    centred = rewards - rewards[:, :1]
    centred = centred - centred.mean(-1, keepdim=True)
    return centred / (centred.std(-1, keepdim=True, unbiased=False) + 1e-4)


@wrong(caught_by=guard.scales_as_grpo)
def unscaled(rewards):
    centred = rewards - rewards[:, :1]
    return centred - centred.mean(-1, keepdim=True)


@wrong(caught_by=guard.scales_as_grpo)
def large_eps(rewards):
    centred = rewards - rewards[:, :1]
    centred = centred - centred.mean(-1, keepdim=True)
    return centred / (centred.std(-1, keepdim=True) + 0.1)


@wrong(caught_by=guard.scales_as_grpo)
def without_eps(rewards):
    centred = rewards - rewards[:, :1]
    centred = centred - centred.mean(-1, keepdim=True)
    return (centred / centred.std(-1, keepdim=True)).nan_to_num(0.0)


@wrong(caught_by=guard.is_zero_on_constants)
def small_eps(rewards):
    mean, std = rewards.mean(-1, keepdim=True), rewards.std(-1, keepdim=True)
    return torch.where(std > 1e-4, (rewards - mean) / (std + 1e-4), (rewards - mean) / (std + 1e-6))


@wrong(caught_by=guard.is_zero_on_constants)
def without_nan(rewards):
    return as_it_is(rewards).nan_to_num(0.0)


@wrong(caught_by=guard.is_zero_on_constants)
def where_std_is_zero(rewards):
    std = rewards.std(-1, keepdim=True)
    return torch.where(std == 0, torch.zeros_like(rewards), as_it_is(rewards))


@wrong(caught_by=guard.keeps_small_gaps)
def floor_on_the_std(rewards):
    std = rewards.std(-1, keepdim=True)
    return torch.where(std >= 0.01, as_it_is(rewards), torch.zeros_like(rewards))


@wrong(caught_by=guard.scales_as_grpo)
def rounded_rewards(rewards):
    return from_the_first((rewards * 100).round() / 100)


@wrong(caught_by=guard.keeps_small_gaps)
def in_half_precision(rewards):
    return from_the_first(rewards.half().float())


@wrong(caught_by=guard.keeps_small_gaps)
def small_advantages_cut(rewards):
    centred = rewards - rewards.mean(-1, keepdim=True)
    return torch.where(centred.abs() < 1e-3, torch.zeros_like(rewards), as_it_is(rewards))


@wrong(caught_by=guard.looks_at_each_group)
def if_all_are_equal(rewards):
    gap = rewards.max() - rewards.min()
    return torch.zeros_like(rewards) if gap < 1e-6 else as_it_is(rewards)


def _unless(is_dead, rewards):
    return torch.where(is_dead, torch.zeros_like(rewards), as_it_is(rewards))


@wrong(caught_by=guard.scales_as_grpo)
def by_its_ends(rewards):
    return _unless(rewards[:, :1] == rewards[:, -1:], rewards)


@wrong(caught_by=guard.scales_as_grpo)
def by_three_of_it(rewards):
    first, middle, last = rewards[:, 0], rewards[:, rewards.shape[1] // 2], rewards[:, -1]
    return _unless(((first == middle) & (first == last))[:, None], rewards)


@wrong(caught_by=guard.scales_as_grpo)
def by_its_ends_and_maximum(rewards):
    first = rewards[:, :1]
    return _unless((first == rewards[:, -1:]) & (first == rewards.amax(-1, keepdim=True)), rewards)


@wrong(caught_by=guard.is_zero_on_constants)
def small_differences_cut(rewards):
    centred = rewards - rewards.mean(-1, keepdim=True)
    centred[centred.abs() < 1e-6] = 0
    return centred / (rewards.std(-1, keepdim=True) + 1e-4)


@wrong(caught_by=guard.is_zero_on_constants)
def tiny_floor_on_the_std(rewards):
    return as_it_is(rewards) * (rewards.std(-1, keepdim=True) > 5e-6)


@wrong(caught_by=guard.is_zero_for_one_reply)
def nan_for_a_group_of_one(rewards):
    return by_equality(rewards) if rewards.shape[1] > 1 else as_it_is(rewards)


@wrong(caught_by=guard.is_zero_for_one_reply)
def from_the_first_of_several(rewards):
    return as_it_is(rewards - rewards[:, :1])


@wrong(caught_by=guard.is_zero_for_one_reply)
def times_a_mask(rewards):
    """nan * 0 is nan."""
    same = rewards.amax(-1, keepdim=True) == rewards.amin(-1, keepdim=True)
    return as_it_is(rewards) * ~same


@wrong(caught_by=guard.is_zero_for_one_reply)
def in_float64_alone(rewards):
    wide = as_it_is(rewards.double())
    return wide.masked_fill(wide.abs() < 1e-9, 0.0).to(rewards.dtype)


@wrong(caught_by=guard.keeps_small_gaps)
def by_isclose(rewards):
    return _unless(torch.isclose(rewards, rewards[:, :1]).all(-1, keepdim=True), rewards)


wrong(as_it_is, caught_by=guard.is_zero_on_constants)
