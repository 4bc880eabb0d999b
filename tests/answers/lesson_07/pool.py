"""Right and wrong answers of exercise 07.7."""

import torch

from course_utils.exercises.lesson_07 import pool
from tests.answers import answers_of

right, wrong = answers_of(pool.POOL)


@right
def by_flipping(scores, mask):
    last = mask.shape[1] - 1 - mask.flip(-1).long().argmax(-1)
    return scores.gather(-1, last[:, None]).squeeze(-1)


@right
def by_gather(scores, mask):
    last = mask.long().cumsum(-1).argmax(-1, keepdim=True)
    return scores.gather(1, last)[:, 0]


@right
def by_rows(scores, mask):
    return torch.stack([row[seen.bool()][-1] for row, seen in zip(scores, mask, strict=True)])


@wrong(caught_by=pool.is_one_score_a_row)
def one_number(scores, mask):
    return by_rows(scores, mask).mean()


@wrong(caught_by=pool.is_one_score_a_row)
def keeps_an_axis(scores, mask):
    return by_rows(scores, mask)[:, None]


@wrong(caught_by=pool.is_one_score_a_row)
def a_list(scores, mask):
    return by_rows(scores, mask).tolist()


@wrong(caught_by=pool.on_the_right)
def last_column(scores, mask):
    return scores[:, -1]


@wrong(caught_by=pool.on_the_right)
def first_column(scores, mask):
    return scores[:, 0]


@wrong(caught_by=pool.on_the_right)
def mean_of_the_text(scores, mask):
    return ((scores * mask).sum(-1) / mask.sum(-1)).to(scores.dtype)


@wrong(caught_by=pool.on_the_right)
def largest_score(scores, mask):
    return scores.masked_fill(mask == 0, -1e4).max(-1).values


@wrong(caught_by=pool.on_the_right)
def last_that_is_not_zero(scores, mask):
    last = (scores * mask != 0).cumsum(-1).argmax(-1)
    return scores.gather(-1, last[:, None])[:, 0]


@wrong(caught_by=pool.on_the_right)
def first_padding_less_one_too_many(scores, mask):
    last = ((mask == 0).int().argmax(-1) - 2) % mask.shape[1]
    return scores[torch.arange(len(mask)), last]


@wrong(caught_by=pool.on_the_left)
def count_less_one(scores, mask):
    return scores[torch.arange(len(mask)), mask.sum(-1) - 1]


@wrong(caught_by=pool.on_the_left)
def before_the_padding(scores, mask):
    """Padded on the left the first padding is at 0, and one before it is the last token."""
    last = ((mask == 0).int().argmax(-1) - 1) % mask.shape[1]
    return scores[torch.arange(len(mask)), last]


@wrong(caught_by=pool.on_the_left)
def count_less_one_clamped(scores, mask):
    last = (mask.cumsum(-1).max(-1).values - 1).clamp(min=0)
    return scores.gather(-1, last[:, None])[:, 0]


@wrong(caught_by=pool.trains_that_token)
def detached(scores, mask):
    return by_rows(scores, mask).detach()


@wrong(caught_by=pool.trains_that_token)
def from_numbers(scores, mask):
    return torch.tensor(by_rows(scores, mask).tolist(), dtype=scores.dtype)
