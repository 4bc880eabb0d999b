"""Right and wrong answers of exercise 04.1."""

import torch

from course_utils.exercises.lesson_04 import sampler
from course_utils.exercises.lesson_04.sampler import sample_by_division
from tests.answers import answers_of

right, wrong = answers_of(sampler.SAMPLER)


@right
def sample_by_logs(logits, noise):
    return (torch.log_softmax(logits, dim=-1) - torch.log(noise)).max(dim=-1).indices


@right
def sample_with_gumbel_noise(logits, noise):
    return torch.max(logits - noise.log(), 1)[1]


@right
def sample_row_by_row(logits, noise):
    rows = [torch.argmax(row.softmax(0) / q) for row, q in zip(logits, noise, strict=True)]
    return torch.stack(rows)


@wrong(caught_by=sampler.wins_the_race)
def sample_greedily(logits, noise):
    return logits.argmax(dim=-1)


@wrong(caught_by=sampler.wins_the_race)
def sample_by_product(logits, noise):
    return (torch.softmax(logits, dim=-1) * noise).argmax(dim=-1)


@wrong(caught_by=sampler.wins_the_race)
def sample_the_logits(logits, noise):
    return (logits / noise).argmax(dim=-1)


@wrong(caught_by=sampler.wins_the_race)
def sample_over_the_rows(logits, noise):
    return torch.softmax(logits, dim=0).div(noise).argmax(dim=-1)


@wrong(caught_by=sampler.one_token_a_row)
def sample_over_the_batch(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).argmax()


@wrong(caught_by=sampler.wins_the_race)
def sample_the_least(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).argmin(dim=-1)


@wrong(caught_by=sampler.gives_a_tensor_of_ids)
def sample_with_kept_dimension(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).argmax(dim=-1, keepdim=True)


@wrong(caught_by=sampler.gives_a_tensor_of_ids)
def sample_to_a_list(logits, noise):
    return sample_by_division(logits, noise).tolist()


@wrong(caught_by=sampler.gives_a_tensor_of_ids)
def sample_its_probability(logits, noise):
    return torch.softmax(logits, dim=-1).div(noise).max(dim=-1).values


@wrong(caught_by=sampler.nan_is_token_zero)
def sample_without_nan(logits, noise):
    return sample_by_division(logits.nan_to_num(), noise)


@wrong(caught_by=sampler.wins_the_race)
def sample_by_its_own_noise(logits, noise):
    return torch.multinomial(torch.softmax(logits.nan_to_num(), dim=-1), 1)[:, 0]


@wrong(caught_by=sampler.wins_far_from_zero)
def sample_with_plain_exp(logits, noise):
    return (logits.exp() / noise).argmax(dim=-1)


@wrong(caught_by=sampler.wins_far_from_zero)
def sample_with_bounded_logits(logits, noise):
    return sample_by_division(logits.clamp(-50, 50), noise)


@wrong(caught_by=sampler.wins_far_from_zero)
def sample_below_one_maximum(logits, noise):
    return ((logits - logits.max()).exp() / noise).argmax(dim=-1)


@wrong(caught_by=sampler.wins_far_from_zero)
def sample_below_one_mean(logits, noise):
    return ((logits - logits.mean()).exp() / noise).argmax(dim=-1)


@wrong(caught_by=sampler.wins_the_race)
def sample_small_vocabularies(logits, noise):
    return sample_by_division(logits[:, :1000], noise[:, :1000])


@wrong(caught_by=sampler.a_nan_stays_in_its_row)
def sample_zeros_if_one_is_nan(logits, noise):
    if logits.isnan().any():
        return torch.zeros(len(logits), dtype=torch.int64)
    return sample_by_division(logits, noise)
