"""Inputs that all function exercises share: many shapes, dtypes and seeds; values and gradients.

An exercise gives an oracle and a way to draw inputs; each function here makes one criterion's
`observe` from them. Oracles compute in float64 and must not be the code under test.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Observe

SHAPES = ((), (1,), (6,), (3, 4), (1, 5), (2, 1, 3))
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
SEEDS = (11, 29, 47)

# What a few roundings in a format cost, relative to the value.
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}

Draw = Callable[[torch.Generator, tuple[int, ...], torch.dtype], tuple]


@dataclass(frozen=True)
class Trial:
    """One call of the answer: its arguments, and their description for the student."""

    args: tuple
    given: str
    dtype: torch.dtype
    shape: tuple[int, ...]


def trials(draw: Draw, shapes=SHAPES, dtypes=DTYPES, seeds=SEEDS) -> Iterator[Trial]:
    """Inputs of every shape in every dtype; each combination has its own seed."""
    number = 0
    for dtype in dtypes:
        for shape in shapes:
            seed = seeds[number % len(seeds)] + number
            args = draw(torch.Generator().manual_seed(seed), shape, dtype)
            name = str(dtype).removeprefix("torch.")
            yield Trial(args, f"{name} inputs of shape {shape} (seed {seed})", dtype, shape)
            number += 1


def has_form(
    draw: Draw,
    *,
    shapes=SHAPES,
    dtypes=DTYPES,
    result_dtype: Callable[[torch.dtype], torch.dtype] | None = lambda dtype: dtype,
    result_shape: Callable[[tuple[int, ...]], tuple[int, ...]] = lambda shape: shape,
) -> Observe:
    """Observe that the answer gives a tensor of the required dtype and shape: a `form`.

    Args:
        draw: makes the arguments from a generator, a shape and a dtype.
        result_dtype: the dtype asked for inputs of a dtype; None when any will do.
        result_shape: the shape asked for inputs of a shape; by default the same.
    """

    def has_the_form(answer) -> str | None:
        for trial in trials(draw, shapes, dtypes):
            got = answer(*trial.args)
            if not isinstance(got, Tensor):
                return f"it returns a {type(got).__name__}, where a tensor is asked"
            want = result_dtype(trial.dtype) if result_dtype else got.dtype
            if got.dtype != want:
                return f"for {trial.given} the result is {got.dtype}, it should be {want}"
            if tuple(got.shape) != result_shape(trial.shape):
                asked = f"{tuple(got.shape)}, it should be {result_shape(trial.shape)}"
                return f"for {trial.given} the result has shape {asked}"
        return None

    return has_the_form


def agrees(
    oracle: Callable[..., Tensor],
    draw: Draw,
    *,
    shapes=SHAPES,
    dtypes=DTYPES,
    rounding: dict[torch.dtype, float] = ROUNDING,
    result_dtype: Callable[[torch.dtype], torch.dtype] | None = lambda dtype: dtype,
) -> Observe:
    """Observe that the answer's values are the oracle's, in dtype, shape and size.

    Args:
        oracle: takes what the answer takes, floating tensors in float64; its result is the truth.
        draw: makes the arguments from a generator, a shape and a dtype.
        rounding: the relative error allowed in each format.
        result_dtype: the dtype of the result for inputs of a dtype; by default the same; None
            when any will do.
    """

    def values_agree(answer) -> str | None:
        for trial in trials(draw, shapes, dtypes):
            got = answer(*trial.args)
            asked = result_dtype(trial.dtype) if result_dtype else getattr(got, "dtype", None)
            want = oracle(*map(_double, trial.args)).to(asked)
            if seen := tensor_differs(got, want, rtol=rounding[trial.dtype], given=trial.given):
                return seen
        return None

    return values_agree


def gradients_agree(
    oracle: Callable[..., Tensor],
    draw: Draw,
    *,
    wrt: int = 0,
    shapes=SHAPES,
    dtypes=DTYPES,
    rounding: dict[torch.dtype, float] = ROUNDING,
) -> Observe:
    """Observe that the gradient with respect to argument `wrt` is the oracle's.

    Each element of the result is weighted differently, so that a gradient that is right only in
    sum is found out. A result without a graph is named as such.
    """

    def gradients_are_right(answer) -> str | None:
        for trial in trials(draw, shapes, dtypes):
            got, problem = gradient_of(answer, trial.args, wrt)
            if problem:
                return f"for {trial.given} {problem}"
            want, _ = gradient_of(oracle, tuple(map(_double, trial.args)), wrt)
            given = f"{trial.given}, the gradient"
            want = want.to(trial.dtype)
            if seen := tensor_differs(got, want, rtol=rounding[trial.dtype], given=given):
                return seen
        return None

    return gradients_are_right


def gradient_of(function, args: tuple, wrt: int = 0) -> tuple[Tensor | None, str | None]:
    """The gradient with respect to argument `wrt`, or a sentence that says why there is none."""
    leaf = args[wrt].detach().clone().requires_grad_()
    result = function(*args[:wrt], leaf, *args[wrt + 1 :])
    if not isinstance(result, Tensor) or not result.requires_grad:
        return None, "the result has no graph, so nothing can learn from it"
    weights = torch.linspace(0.5, 1.5, max(result.numel(), 1), dtype=torch.float64)
    (result.double() * weights.reshape(result.shape)).sum().backward()
    if leaf.grad is None:
        return None, "no gradient comes back to the input"
    return leaf.grad, None


def _double(value: object) -> object:
    is_floating = isinstance(value, Tensor) and value.is_floating_point()
    return value.detach().double() if is_floating else value
