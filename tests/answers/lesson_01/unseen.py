"""Right and wrong answers of exercise 01.8."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from course_utils.exercises.lesson_01 import unseen
from course_utils.exercises.lesson_01.unseen import (
    compass_with_a_harmless_row,
    reader_with_a_finite_mask,
    search_with_a_harmless_row,
)
from course_utils.exercises.lesson_01.unseen_looks import (
    gradient_is_bounded,
    healthy_batches_stay,
    it_learns,
    others_keep_their_gradient,
    place_is_right,
)
from course_utils.reproductions.lesson_01.unseen_01 import (
    attention_loss,
    cosine_loss,
    direction_loss,
)
from tests.answers.forms import mends_of


def search_without_empty_rows(x, y):
    has_words = x.ne(0).any(-1)
    cosine = F.cosine_similarity(x[has_words], y[has_words])
    return (1 - cosine).sum() / has_words.sum()


def search_with_a_bounded_norm(x, y):
    size = x.norm(dim=-1).clamp(min=0.05)
    return (1 - (x * y).sum(-1) / (size * y.norm(dim=-1))).mean()


def search_with_eps_outside(x, y):
    size = (x.square().sum(-1).sqrt() + 1e-6) * y.norm(dim=-1)
    return (1 - (x * y).sum(-1) / size).mean()


def search_with_torchs_cosine(x, y):
    return (1 - F.cosine_similarity(x, y)).mean()


def search_in_float64(x, y):
    return search_with_a_harmless_row(x.double(), y.double())


def where_a_row_is_empty(mended: Callable, old: Callable, change: Callable) -> Callable:
    """The old loss on full documents; with an empty one, `change` of the mended loss."""

    def loss(x, *rest):
        is_empty = rest[0].logical_not() if rest[0].dtype == torch.bool else x.eq(0)
        if not is_empty.all(-1).any():
            return old(x, *rest)
        return change(mended(x, *rest), x)

    return loss


def search_without_small_rows(x, y):
    large = x.norm(dim=-1) > 0.25
    return search_with_a_harmless_row(x[large], y[large])


def search_with_a_large_eps(x, y):
    return (1 - F.cosine_similarity(x, y, eps=0.2)).mean()


def search_without_rows_that_cancel(x, y):
    kept = x.sum(-1).abs() > 1e-6
    return search_with_a_harmless_row(x[kept], y[kept])


def search_without_rows_with_a_zero(x, y):
    kept = x.ne(0).all(-1)
    return search_with_a_harmless_row(x[kept], y[kept])


def search_with_nan_to_num(x, y):
    return cosine_loss(x, y).nan_to_num()


def search_over_half_the_mean(x, y):
    return search_with_a_harmless_row(x, y) / 2


def search_detached(x, y):
    return search_with_a_harmless_row(x.detach(), y)


def search_that_gives_up(x, y):
    loss = search_with_a_harmless_row(x, y)
    return loss * 0 if x.eq(0).all(-1).any() else loss


def search_with_a_fixed_row(x, y):
    keep = torch.arange(len(x)) != 5
    return cosine_loss(x[keep], y[keep]) if len(x) == 8 else cosine_loss(x, y)


def reader_without_empty_rows(scores, allowed, values, target):
    can = allowed.any(-1)
    weights = scores[can].masked_fill(~allowed[can], -math.inf).softmax(-1)
    return (weights @ values - target[can]).square().sum() / len(scores)


def reader_with_an_open_row(scores, allowed, values, target):
    can_read = allowed.any(-1)
    return (
        attention_loss(
            torch.where(can_read[:, None], scores, 0.0),
            allowed | ~can_read[:, None],
            values,
            target,
        )
        - (torch.where(can_read, 0.0, (values.mean(0) - target).square().sum(-1))).mean()
    )


def reader_with_nan_to_num(scores, allowed, values, target):
    mask = torch.zeros_like(scores).masked_fill(~allowed, -math.inf)
    weights = (scores + mask).softmax(-1).nan_to_num()
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_that_forgets_the_mask(scores, allowed, values, target):
    error = (scores.softmax(-1) @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_with_a_weak_mask(scores, allowed, values, target):
    error = ((scores - 3.0 * ~allowed).softmax(-1) @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_with_a_mask_of_minus_ten(scores, allowed, values, target):
    error = ((scores - 10.0 * ~allowed).softmax(-1) @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_with_eps_below(scores, allowed, values, target):
    shares = scores.exp() * allowed
    weights = shares / (shares.sum(-1, keepdim=True) + 1e-4)
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_by_the_count_of_readers(scores, allowed, values, target):
    weights = scores.masked_fill(~allowed, -1e9).softmax(-1)
    error = (weights @ values - target).square().mean(-1)
    return torch.where(allowed.any(-1), error, 0.0).sum() / allowed.any(-1).sum()


def reader_that_lets_the_empty_row_read_all(scores, allowed, values, target):
    mask = torch.zeros_like(scores).masked_fill(~allowed, -1e9)
    weights = (scores + mask).softmax(-1)
    return (weights @ values - target).square().sum(-1).mean()


def reader_with_no_weights(scores, allowed, values, target):
    shares = scores.softmax(-1) * allowed
    weights = shares / torch.where(allowed.any(-1), shares.sum(-1), 1.0)[:, None]
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_that_gives_up(scores, allowed, values, target):
    loss = reader_with_a_finite_mask(scores, allowed, values, target)
    return loss if allowed.any(-1).all() else loss * 0


def reader_detached(scores, allowed, values, target):
    return reader_with_a_finite_mask(scores.detach(), allowed, values, target)


def compass_without_empty_rows(x, y):
    has_words = x.ne(0).any(-1)
    return (F.normalize(x[has_words]) - F.normalize(y[has_words])).square().sum() / has_words.sum()


def compass_with_a_bounded_norm(x, y):
    unit = x / x.norm(dim=-1, keepdim=True).clamp(min=0.05)
    return (unit - F.normalize(y)).square().sum(-1).mean()


def compass_with_torchs_normalize(x, y):
    return (F.normalize(x) - F.normalize(y)).square().sum(-1).mean()


def compass_with_a_larger_eps(x, y):
    unit = x / (x.norm(dim=-1, keepdim=True) + 1e-5)
    return (unit - F.normalize(y)).square().sum(-1).mean()


def compass_without_small_rows(x, y):
    large = x.norm(dim=-1) > 0.25
    return compass_with_a_harmless_row(x[large], y[large])


def compass_with_a_bound_of_a_fifth(x, y):
    return (F.normalize(x, eps=0.2) - F.normalize(y)).square().sum(-1).mean()


def compass_without_rows_that_begin_with_zero(x, y):
    kept = x[:, 0].ne(0)
    return compass_with_a_harmless_row(x[kept], y[kept])


def compass_with_a_clipped_loss(x, y):
    return direction_loss(x, y).clamp(max=1.5)


def compass_without_directions(x, y):
    return (x - F.normalize(y)).square().sum(-1).mean()


def compass_by_rows_alone(x, y):
    return (F.normalize(x) - F.normalize(y)).square().mean()


def compass_detached(x, y):
    return compass_with_a_harmless_row(x.detach(), y)


def compass_that_gives_up(x, y):
    loss = compass_with_a_harmless_row(x, y)
    return loss * 0 if x.eq(0).all(-1).any() else loss


def _spoilt(mended: Callable, old: Callable) -> dict[Callable, Callable]:
    """Losses that are right until a document is empty, and then another loss."""
    changes = (
        lambda loss, x: 5 * loss,
        lambda loss, x: loss + 100,
        lambda loss, x: loss + x[3].square().sum(),
        lambda loss, x: x.sum(-1).square().mean() / 10,
    )
    return {
        where_a_row_is_empty(mended, old, change): others_keep_their_gradient for change in changes
    }


def _add(exercise, mends: tuple, caught: dict[Callable, Callable]) -> None:
    """Its right mends, and the wrong ones with what rejects each."""
    answers, line = mends_of(exercise), exercise.answer["line"]
    for mend in mends[1:-1]:
        answers.right(mend)
    answers.right_in_capitals(mends[-1])
    answers.wrong({"row": 8}, caught_by=place_is_right)
    answers.wrong({"line": line + 1}, caught_by=place_is_right)
    for mend, look in caught.items():
        answers.wrong(mend, caught_by=look)
    answers.misdiagnoses(
        elsewhere={"row": 0},
        malformed=({"fix": 1.0}, {"cause": "softmax"}, {"row": "all"}),
        place=place_is_right,
        cause=unseen.ASKED.diagnosis[-1].observe,
    )


_add(
    unseen.SEARCH,
    (
        search_with_a_harmless_row,
        search_without_empty_rows,
        search_with_a_bounded_norm,
        search_in_float64,
    ),
    {
        search_with_nan_to_num: gradient_is_bounded,
        search_with_eps_outside: gradient_is_bounded,
        search_with_torchs_cosine: gradient_is_bounded,
        search_without_small_rows: healthy_batches_stay,
        search_with_a_large_eps: healthy_batches_stay,
        search_without_rows_that_cancel: healthy_batches_stay,
        search_without_rows_with_a_zero: healthy_batches_stay,
        **_spoilt(search_with_a_harmless_row, cosine_loss),
        search_with_a_fixed_row: healthy_batches_stay,
        search_over_half_the_mean: healthy_batches_stay,
        search_detached: healthy_batches_stay,
        search_that_gives_up: it_learns,
    },
)
_add(
    unseen.READER,
    (
        reader_with_a_finite_mask,
        reader_without_empty_rows,
        reader_with_an_open_row,
        reader_with_no_weights,
    ),
    {
        reader_with_nan_to_num: gradient_is_bounded,
        reader_that_lets_the_empty_row_read_all: gradient_is_bounded,
        attention_loss: gradient_is_bounded,
        reader_that_forgets_the_mask: healthy_batches_stay,
        reader_with_a_mask_of_minus_ten: healthy_batches_stay,
        reader_with_eps_below: healthy_batches_stay,
        **_spoilt(reader_with_a_finite_mask, attention_loss),
        reader_with_a_weak_mask: healthy_batches_stay,
        reader_by_the_count_of_readers: healthy_batches_stay,
        reader_detached: healthy_batches_stay,
        reader_that_gives_up: it_learns,
    },
)
_add(
    unseen.COMPASS,
    (
        compass_with_a_harmless_row,
        compass_without_empty_rows,
        compass_with_a_bounded_norm,
    ),
    {
        compass_with_torchs_normalize: gradient_is_bounded,
        compass_with_a_larger_eps: gradient_is_bounded,
        compass_without_small_rows: healthy_batches_stay,
        compass_with_a_bound_of_a_fifth: healthy_batches_stay,
        compass_without_rows_that_begin_with_zero: healthy_batches_stay,
        **_spoilt(compass_with_a_harmless_row, direction_loss),
        compass_with_a_clipped_loss: healthy_batches_stay,
        compass_without_directions: healthy_batches_stay,
        compass_by_rows_alone: healthy_batches_stay,
        compass_detached: healthy_batches_stay,
        compass_that_gives_up: it_learns,
    },
)
