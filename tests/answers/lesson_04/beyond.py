"""Right and wrong answers of exercise 04.2."""

import math

import torch

from course_utils.exercises.lesson_04 import beyond
from course_utils.exercises.lesson_04.beyond import beyond_by_exp
from tests.answers import answers_of

right, wrong = answers_of(beyond.BEYOND)


@right
def beyond_by_limit(log_ratio, mask):
    is_over = log_ratio.double() > torch.tensor(torch.finfo(log_ratio.dtype).max).double().log()
    return is_over[mask.bool()].sum(), is_over[~mask.bool()].sum()


@right
def beyond_by_plain_limit(log_ratio, mask):
    is_over = log_ratio > math.log(torch.finfo(log_ratio.dtype).max)
    is_over &= ~log_ratio.isnan()
    return (is_over & (mask == 1)).sum(), (is_over & (mask == 0)).sum()


@right
def beyond_as_tensor(log_ratio, mask):
    is_over = log_ratio.exp() == math.inf
    at_tokens = (is_over * (mask != 0)).sum()
    return torch.stack([at_tokens, is_over.sum() - at_tokens])


@right
def beyond_as_list(log_ratio, mask):
    is_over = torch.isposinf(torch.exp(log_ratio))
    return [is_over[mask == 1].sum().item(), is_over[mask == 0].sum().item()]


@wrong(caught_by=beyond.counts_inf_alone)
def beyond_counts_nan(log_ratio, mask):
    is_bad = ~log_ratio.exp().isfinite()
    return (is_bad & mask.bool()).sum(), (is_bad & ~mask.bool()).sum()


@wrong(caught_by=beyond.counts_inf_alone)
def beyond_misses_inf(log_ratio, mask):
    return beyond_by_exp(torch.where(log_ratio.isfinite(), log_ratio, 0.0), mask)


@wrong(caught_by=beyond.asks_the_format)
def beyond_in_float16(log_ratio, mask):
    return beyond_by_exp(log_ratio.half(), mask)


@wrong(caught_by=beyond.counts_tokens)
def beyond_in_float32(log_ratio, mask):
    return beyond_by_exp(log_ratio.float(), mask)


@wrong(caught_by=beyond.asks_the_format)
def beyond_fixed_number(log_ratio, mask):
    is_over = log_ratio > 11.09
    return int((is_over & (mask == 1)).sum()), int((is_over & (mask == 0)).sum())


@wrong(caught_by=beyond.asks_the_format)
def beyond_two_numbers(log_ratio, mask):
    limit = 11.09 if log_ratio.dtype == torch.float16 else 88.7
    is_over = log_ratio > limit
    return int((is_over & (mask == 1)).sum()), int((is_over & (mask == 0)).sum())


@wrong(caught_by=beyond.counts_tokens)
def beyond_both_ways(log_ratio, mask):
    return beyond_by_exp(log_ratio.abs(), mask)


@wrong(caught_by=beyond.counts_tokens)
def beyond_swapped(log_ratio, mask):
    return beyond_by_exp(log_ratio, 1 - mask.long())


@wrong(caught_by=beyond.counts_tokens)
def beyond_everything_first(log_ratio, mask):
    is_over = log_ratio.exp().isinf()
    return int(is_over.sum()), int((is_over & (mask == 0)).sum())


@wrong(caught_by=beyond.counts_padding)
def beyond_tokens_only(log_ratio, mask):
    return beyond_by_exp(torch.where(mask.bool(), log_ratio, 0.0), mask)


@wrong(caught_by=beyond.counts_tokens)
def beyond_shares(log_ratio, mask):
    tokens, padding = beyond_by_exp(log_ratio, mask)
    return tokens / max(int(mask.sum()), 1), padding / max(int((mask == 0).sum()), 1)


@wrong(caught_by=beyond.gives_two_counts)
def beyond_one_count(log_ratio, mask):
    return int((log_ratio.exp().isinf() & (mask == 0)).sum())


@wrong(caught_by=beyond.gives_two_counts)
def beyond_masks(log_ratio, mask):
    is_over = log_ratio.exp().isinf()
    return is_over & (mask == 1), is_over & (mask == 0)
