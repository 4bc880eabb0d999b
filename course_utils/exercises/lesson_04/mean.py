"""Exercise 04.4: a masked mean that padding cannot poison."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import number_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")
VALUES = ((1.0, 2.0, 40.0), (6.0, 50.0, 60.0))
MASK = torch.tensor([[1, 1, 0], [1, 0, 0]])


def _with(row: int, column: int, value: float) -> torch.Tensor:
    values = torch.tensor(VALUES)
    values[row, column] = value
    return values


def is_the_mean_of_tokens(masked_mean) -> str | None:
    got = masked_mean(torch.tensor(VALUES), MASK)
    return number_differs(got, 3.0, rtol=1e-5, given=f"values {VALUES} and mask {MASK.tolist()}")


def padding_does_not_count(masked_mean) -> str | None:
    for value in (NAN, INF, -INF):
        got = masked_mean(_with(0, 2, value), MASK)
        seen = number_differs(got, 3.0, rtol=1e-5, given=f"a {value} at padding")
        if seen:
            return seen
    return None


def no_token_is_zero(masked_mean) -> str | None:
    got = masked_mean(torch.tensor(VALUES), torch.zeros_like(MASK))
    return number_differs(got, 0.0, rtol=0.0, given="a mask without a single 1")


def a_bad_token_still_shows(masked_mean) -> str | None:
    got = masked_mean(_with(0, 1, NAN), MASK)
    return number_differs(got, NAN, rtol=0.0, given="a nan at a real token")


def mean_by_where(values, mask):
    kept = torch.where(mask.bool(), values, 0.0)
    return kept.sum() / mask.sum().clamp(min=1)


def mean_by_selection(values, mask):
    chosen = values[mask.bool()]
    return chosen.mean() if len(chosen) else values.new_zeros(())


def mean_as_in_0_2(values, mask):
    return (values * mask).sum() / mask.sum()


def mean_with_small_number(values, mask):
    return (values * mask).sum() / (mask.sum() + 1e-8)


def mean_of_selection_only(values, mask):
    return values[mask.bool()].mean()


def mean_over_everything(values, mask):
    return torch.where(mask.bool(), values, 0.0).mean()


def mean_without_nan(values, mask):
    return mean_by_where(values.nan_to_num(0.0, 0.0, 0.0), mask)


def mean_with_nansum(values, mask):
    return torch.where(mask.bool(), values, 0.0).nansum() / mask.sum().clamp(min=1)


MEAN = Exercise(
    id="04.4",
    name="MEAN",
    title="A mean that padding cannot poison",
    minutes=5,
    difficulty="one or two lines",
    points=3,
    reads="masked_mean",
    expects=(Callable,),
    hints=(
        "What is nan * 0?",
        "Select the values instead of multiplying them; and what if there is none to select?",
        "torch.where(mask.bool(), values, 0.0).sum(), divided by the count, but at least by 1.",
    ),
    criteria=(
        Criterion(
            "It is the mean of the values whose mask is 1.",
            is_the_mean_of_tokens,
            why="the number of tokens counts, not the size of the rectangle",
            next="divide by mask.sum()",
        ),
        Criterion(
            "Whatever stands at padding, even nan or inf, changes nothing.",
            padding_does_not_count,
            why="nan * 0 is nan, so a product with the mask lets it through",
            next="choose with torch.where or by index",
        ),
        Criterion(
            "Without a single token it is 0.",
            no_token_is_zero,
            why="0 / 0 is nan, and a mini-batch of empty replies happens",
            next="never divide by less than 1",
        ),
        Criterion(
            "A nan at a real token is not hidden.",
            a_bad_token_still_shows,
            why="a metric that hides what is broken costs you the warning",
            next="leave nan alone where the mask is 1",
        ),
    ),
    right=(mean_by_where, mean_by_selection),
    wrong=(
        Wrong(mean_as_in_0_2, caught_by=padding_does_not_count),
        Wrong(mean_with_small_number, caught_by=padding_does_not_count),
        Wrong(mean_of_selection_only, caught_by=no_token_is_zero),
        Wrong(mean_over_everything, caught_by=is_the_mean_of_tokens),
        Wrong(mean_without_nan, caught_by=a_bad_token_still_shows),
        Wrong(mean_with_nansum, caught_by=a_bad_token_still_shows),
    ),
)
