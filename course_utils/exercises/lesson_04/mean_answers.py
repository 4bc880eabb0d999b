"""Right and wrong answers to exercise 04.4, as people give them."""

import torch

from course_utils.reproductions.lesson_04 import verl_formulas


def mean_by_where(values, mask):
    kept = torch.where(mask.bool(), values, 0.0)
    return kept.sum() / mask.sum().clamp(min=1)


def mean_by_selection(values, mask):
    chosen = values[mask.bool()]
    return chosen.mean() if len(chosen) else values.new_zeros(())


def mean_by_small_number(values, mask):
    kept = values.masked_fill(~mask.bool(), 0)
    return kept.sum() / (mask.float().sum() + 1e-8)


def mean_as_in_0_2(values, mask):
    return verl_formulas.masked_mean(values, mask)


def mean_with_small_number(values, mask):
    return (values * mask).sum() / (mask.sum() + 1e-8)


def mean_of_selection_only(values, mask):
    return values[mask.bool()].mean()


def mean_with_nan_for_none(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum() / mask.sum()


def mean_over_everything(values, mask):
    return torch.where(mask.bool(), values, 0.0).mean()


def mean_of_row_means(values, mask):
    rows = torch.where(mask.bool(), values, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
    return rows.mean()


def mean_by_way_of_thousands(values, mask):
    return (torch.where(mask.bool(), values, 0.0) * 1000).sum() / mask.sum().clamp(min=1) / 1000


def mean_too_small(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum() / (mask.sum() + 1)


def mean_detached(values, mask):
    total = torch.where(mask.bool(), values, 0).sum().item()
    return torch.tensor(total / max(1, mask.sum().item()))


def mean_with_detached_values(values, mask):
    return mean_by_where(values.detach(), mask)


def mean_of_products_without_nan(values, mask):
    return mean_by_where(values.nan_to_num(0.0, 0.0, 0.0), mask)


def mean_with_nansum(values, mask):
    return torch.where(mask.bool(), values, 0.0).nansum() / mask.sum().clamp(min=1)


def mean_of_finite_values(values, mask):
    return mean_by_selection(values, mask.bool() & values.isfinite())


def mean_as_float(values, mask):
    return mean_by_where(values, mask).item()


def mean_by_row(values, mask):
    return torch.where(mask.bool(), values, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
