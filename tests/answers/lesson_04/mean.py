"""Right and wrong answers of exercise 04.4."""

import torch

from course_utils.exercises.lesson_04 import mean
from course_utils.exercises.lesson_04.mean import mean_by_where
from course_utils.reproductions.lesson_04 import verl_formulas
from tests.answers import answers_of

right, wrong = answers_of(mean.MEAN)


@right
def mean_by_selection(values, mask):
    chosen = values[mask.bool()]
    return chosen.mean() if len(chosen) else values.new_zeros(())


@right
def mean_with_a_constant_for_none(values, mask):
    chosen = values[mask.bool()]
    return chosen.mean() if mask.any() else torch.tensor(0.0)


@right
def mean_by_small_number(values, mask):
    kept = values.masked_fill(~mask.bool(), 0)
    return kept.sum() / (mask.float().sum() + 1e-8)


@wrong(caught_by=mean.padding_does_not_count)
def mean_as_in_0_2(values, mask):
    return verl_formulas.masked_mean(values, mask)


@wrong(caught_by=mean.padding_does_not_count)
def mean_with_small_number(values, mask):
    return (values * mask).sum() / (mask.sum() + 1e-8)


@wrong(caught_by=mean.no_token_is_zero)
def mean_of_selection_only(values, mask):
    return values[mask.bool()].mean()


@wrong(caught_by=mean.no_token_is_zero)
def mean_with_nan_for_none(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum() / mask.sum()


@wrong(caught_by=mean.is_the_mean_of_tokens)
def mean_over_everything(values, mask):
    return torch.where(mask.bool(), values, 0.0).mean()


@wrong(caught_by=mean.is_the_mean_of_tokens)
def mean_of_row_means(values, mask):
    rows = torch.where(mask.bool(), values, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
    return rows.mean()


@wrong(caught_by=mean.is_the_mean_of_tokens)
def mean_by_way_of_thousands(values, mask):
    return (torch.where(mask.bool(), values, 0.0) * 1000).sum() / mask.sum().clamp(min=1) / 1000


@wrong(caught_by=mean.is_the_mean_of_tokens)
def mean_too_small(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum() / (mask.sum() + 1)


@wrong(caught_by=mean.gradient_reaches_the_tokens)
def mean_detached(values, mask):
    total = torch.where(mask.bool(), values, 0).sum().item()
    return torch.tensor(total / max(1, mask.sum().item()))


@wrong(caught_by=mean.gradient_reaches_the_tokens)
def mean_with_detached_values(values, mask):
    return mean_by_where(values.detach(), mask)


@wrong(caught_by=mean.a_bad_token_still_shows)
def mean_of_products_without_nan(values, mask):
    return mean_by_where(values.nan_to_num(0.0, 0.0, 0.0), mask)


@wrong(caught_by=mean.a_bad_token_still_shows)
def mean_with_nansum(values, mask):
    return torch.where(mask.bool(), values, 0.0).nansum() / mask.sum().clamp(min=1)


@wrong(caught_by=mean.a_bad_token_still_shows)
def mean_of_finite_values(values, mask):
    return mean_by_selection(values, mask.bool() & values.isfinite())


@wrong(caught_by=mean.gives_one_number)
def mean_as_float(values, mask):
    return mean_by_where(values, mask).item()


@wrong(caught_by=mean.gives_one_number)
def mean_by_row(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
