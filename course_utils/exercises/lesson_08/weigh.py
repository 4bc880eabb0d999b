"""Exercise 08.2: how much a token of each row weighs under a mean of means."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise, Observe

COUNTS = (3, 100, 3, 6)


def due(counts: Tensor, size: int) -> Tensor:
    """The right weights, token by token: share that a token gets, by the share that is its due."""
    rows, total = counts.tolist(), int(counts.sum())
    micro = [rows[at : at + size] for at in range(0, len(rows), size)]
    weights = []
    for one in micro:
        got = 1 / (len(micro) * sum(one))
        weights += [got * total for _ in one]
    return torch.tensor(weights, dtype=torch.float64)


def _agrees(weights, counts: tuple[int, ...], size: int) -> str | None:
    given = torch.tensor(counts)
    got = weights(given, size)
    given_as = f"counts {list(counts)} and micro-batches of {size}"
    if got.dtype.is_floating_point:
        got = got.double()
    return tensor_differs(got, due(given, size), rtol=1e-5, given=given_as)


def _over(*cases: tuple[tuple[int, ...], int]) -> Observe:
    def agrees(weights) -> str | None:
        seen = (_agrees(weights, counts, size) for counts, size in cases)
        return next(filter(None, seen), None)

    return agrees


def gives_a_number_for_each_row(weights) -> str | None:
    got = weights(torch.tensor(COUNTS), 1)
    if not isinstance(got, Tensor):
        return f"it returns a {type(got).__name__}; a tensor is needed"
    if tuple(got.shape) != (len(COUNTS),):
        return f"for {len(COUNTS)} rows the result has shape {tuple(got.shape)}"
    if not got.dtype.is_floating_point:
        return f"the result is {got.dtype}; weights need a float dtype"
    return None


def one_row_alone(weights) -> str | None:
    return _over((COUNTS, 1), ((5, 5, 5), 1), ((1, 2, 3, 4, 90), 1))(weights)


def several_rows(weights) -> str | None:
    return _over((COUNTS, 2), ((1, 99, 50, 50), 2), ((2, 4, 6, 20, 1, 9), 3))(weights)


def any_cut(weights) -> str | None:
    return _over((COUNTS, 4), ((2, 4, 6, 20, 1), 2), (COUNTS, 3), (COUNTS, 9))(weights)


def by_split(counts, size):
    micro = counts.split(size)
    total = counts.sum()
    return torch.cat([total / (len(micro) * one.sum()).expand(len(one)) for one in micro])


WEIGH = Exercise(
    id="08.2",
    name="WEIGH",
    title="Who is over-weighted?",
    minutes=5,
    difficulty="a few lines",
    points=3,
    reads="weights",
    expects=(Callable,),
    hints=(
        "There are G micro-batches. In one of c tokens, what share of the loss does one token "
        "have?",
        "The micro-batch has 1/G of the loss, and its c tokens share this equally. What share does "
        "a token have in the token mean?",
        "Divide the first share by the second. c is the count of the row's whole micro-batch, not "
        "of the row, and G includes the last, shorter one. torch.split finds the micro-batches.",
    ),
    form=gives_a_number_for_each_row,
    criteria=(
        Criterion(
            "With one row per micro-batch, short rows weigh more.",
            one_row_alone,
            why="these are the rows that a mean of means over-weights",
            next="for counts 3, 100, 3 and 6 a token of the first weighs 112 / (4 * 3)",
        ),
        Criterion(
            "With several rows per micro-batch, the micro-batch's count decides.",
            several_rows,
            why="a short row in one micro-batch with a long one is not over-weighted",
            next="add up the counts of the rows that share a micro-batch",
        ),
        Criterion(
            "The last micro-batch may be short, or the only one.",
            any_cut,
            why="all rows at once is the token mean: every weight is 1",
            next="try micro-batches as large as all rows, then three of four rows",
        ),
    ),
    answer=by_split,
)
