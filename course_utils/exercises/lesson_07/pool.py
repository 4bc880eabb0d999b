"""Exercise 07.7: the score of a row, whatever stands beside it in the batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import agrees, gradients_agree, has_form

SHAPES = ((3, 7), (1, 4), (5, 2), (4, 9))
DTYPES = (torch.float32, torch.float64, torch.bfloat16)


def last_of_each(scores_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """The oracle: a plain loop over rows."""
    rows = zip(scores_BT, mask_BT, strict=True)
    return torch.stack([scores[mask.nonzero().max()] for scores, mask in rows])


def _drawn(generator: torch.Generator, shape: tuple[int, ...], dtype, *, side: str) -> tuple:
    scores = torch.randn(shape, generator=generator).to(dtype)
    scores[torch.rand(shape, generator=generator) < 0.2] = 0  # a score like any other
    lengths = torch.randint(1, shape[1] + 1, shape[:1], generator=generator)
    lengths[0] = shape[1]  # the longest row has no padding
    mask = torch.arange(shape[1])[None] < lengths[:, None]
    return scores, (mask.flip(-1) if side == "left" else mask).long()


def right_padded(generator, shape, dtype) -> tuple:
    return _drawn(generator, shape, dtype, side="right")


def left_padded(generator, shape, dtype) -> tuple:
    return _drawn(generator, shape, dtype, side="left")


def padded_on_both_sides(generator, shape, dtype) -> tuple:
    """As prompts padded on the left with replies padded on the right."""
    scores, mask = left_padded(generator, shape, dtype)
    return scores, torch.nn.functional.pad(mask, (0, 1))[:, 1:]


def one_score_a_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[:1]


PROBE = {"shapes": SHAPES, "dtypes": DTYPES}
is_one_score_a_row = has_form(right_padded, **PROBE, result_shape=one_score_a_row)


def on_the_right(pool) -> str | None:
    seen = agrees(last_of_each, right_padded, **PROBE)(pool)
    return f"padded on the right, {seen}" if seen else None


def on_the_left(pool) -> str | None:
    for where, draw in (("the left", left_padded), ("both sides", padded_on_both_sides)):
        if seen := agrees(last_of_each, draw, **PROBE)(pool):
            return f"padded on {where}, {seen}"
    return None


def trains_that_token(pool) -> str | None:
    return gradients_agree(last_of_each, left_padded, **PROBE)(pool)


def by_largest_place(scores, mask):
    places = torch.arange(mask.shape[1]) * mask
    return scores[torch.arange(len(mask)), places.argmax(-1)]


POOL = Exercise(
    id="07.7",
    name="POOL",
    title="A score that does not depend on the batch",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="pool",
    expects=(Callable,),
    hints=(
        "Which token of a row has seen the whole row, and how can you find it from the mask?",
        "It is at the largest position whose mask is 1. How do you get a maximum over some "
        "positions?",
        "Number the positions with torch.arange and hide those whose mask is 0 before the maximum. "
        "Then pick one score per row by its index.",
    ),
    form=is_one_score_a_row,
    criteria=(
        Criterion(
            "Padded on the right, it is the score of the last token of the text.",
            on_the_right,
            why="reward trainers pad on the right, and the score of a padding token means nothing",
            next="find the position from the mask, row by row",
        ),
        Criterion(
            "Padded on the left, or on both sides, it is the same token.",
            on_the_left,
            why="prompts are often padded on the left and replies on the right; neither the "
            "number of tokens nor the first padding then shows where the text ends",
            next="look for the largest position with mask 1",
        ),
        Criterion(
            "The gradient reaches only that token.",
            trains_that_token,
            why="a score without a graph, or a mean over tokens, trains something else",
            next="index the tensor; no .item(), no detach",
        ),
    ),
    answer=by_largest_place,
)
