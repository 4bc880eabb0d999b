"""Exercise 04.4: a masked mean that padding cannot poison."""

from collections.abc import Callable
from numbers import Real

import torch
from torch import Tensor

from course_utils.checks.compare import number_differs, tensor_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import ROUNDING, gradient_of, trials

NAN, INF = float("nan"), float("inf")
MASK = torch.tensor([[1, 1, 0], [1, 0, 0]])
SHAPES = ((6,), (3, 4), (1, 5), (7, 1), (2, 1, 3))
FORMATS = (torch.float32, torch.float16, torch.bfloat16)
MASK_DTYPES = (torch.int64, torch.bool, torch.float32)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return values[mask.bool()].mean()


def _draw(generator: torch.Generator, shape: tuple[int, ...], dtype: torch.dtype) -> tuple:
    """Values and a mask with at least one 1, whose dtype differs from trial to trial."""
    mask = torch.randint(2, shape, generator=generator)
    mask.view(-1)[0] = 1
    kind = MASK_DTYPES[int(mask.sum()) % len(MASK_DTYPES)]
    return torch.randn(shape, generator=generator).add(3).mul(100).to(dtype), mask.to(kind)


def _with(value: float, *, at: tuple[int, int]) -> Tensor:
    values = torch.tensor([[1.0, 2.0, 40.0], [6.0, 50.0, 60.0]])
    values[at] = value
    return values


def gives_one_number(masked_mean) -> str | None:
    got = masked_mean(_with(2.0, at=(0, 1)), MASK)
    if isinstance(got, Tensor) and got.numel() == 1:
        return None
    if isinstance(got, Tensor):
        return f"one number is asked for, and it gives a tensor of shape {tuple(got.shape)}"
    if isinstance(got, Real) and not isinstance(got, bool):
        return (
            f"a tensor with one number is asked for, and it gives the {type(got).__name__} {got:g}"
        )
    return f"one number is asked for, and it gives {got!r}"


def is_the_mean_of_tokens(masked_mean) -> str | None:
    values = _with(2.0, at=(0, 1))
    given = f"values {values.tolist()} and mask {MASK.tolist()}"
    if seen := number_differs(masked_mean(values, MASK), 3.0, rtol=1e-5, given=given):
        return seen
    for trial in trials(_draw, shapes=SHAPES, dtypes=FORMATS):
        values, mask = trial.args
        got = masked_mean(values, mask).double().reshape(())
        want, rtol = _mean(values.double(), mask), ROUNDING[trial.dtype]
        given = f"{trial.given}, {int(mask.sum())} of {mask.numel()} with mask 1"
        if seen := tensor_differs(got, want, rtol=rtol, atol=rtol, given=given):
            return seen
    return None


def gradient_reaches_the_tokens(masked_mean) -> str | None:
    for trial in trials(_draw, shapes=SHAPES):
        got, problem = gradient_of(masked_mean, trial.args)
        if problem:
            return f"for {trial.given} {problem}"
        want, _ = gradient_of(_mean, (trial.args[0].double(), trial.args[1]))
        given, rtol = f"{trial.given}, the gradient", ROUNDING[trial.dtype]
        if seen := tensor_differs(got.double(), want, rtol=rtol, atol=1e-6, given=given):
            return seen
    return None


def padding_does_not_count(masked_mean) -> str | None:
    for value in (NAN, INF, -INF):
        values = _with(value, at=(0, 2))
        given = f"values {values.tolist()} and mask {MASK.tolist()} ({value} at padding)"
        if seen := number_differs(masked_mean(values, MASK), 3.0, rtol=1e-5, given=given):
            return seen
        gradient, _ = gradient_of(masked_mean, (values, MASK))
        if gradient is not None and not gradient.isfinite().all():
            return f"for {given} its gradient is {gradient.tolist()}"
    return None


def no_token_is_zero(masked_mean) -> str | None:
    for fill in (2.0, NAN):
        values, none = _with(fill, at=(0, 1)), torch.zeros_like(MASK)
        given = f"values {values.tolist()} and a mask of zeros"
        if not isinstance(masked_mean(values, none), Tensor):
            return f"for {given} it gives no tensor but {masked_mean(values, none)!r}"
        if seen := number_differs(masked_mean(values, none), 0.0, rtol=0.0, given=given):
            return seen
        leaf = values.clone().requires_grad_()
        result = masked_mean(leaf, none)
        if result.requires_grad:  # a constant 0 is as good as a 0 with a graph
            result.sum().backward()
            if leaf.grad is not None and leaf.grad.abs().nan_to_num(1.0).sum() > 0:
                return f"for {given} its gradient is {leaf.grad.tolist()}, not 0"
    return None


def a_bad_token_still_shows(masked_mean) -> str | None:
    for bad in (NAN, INF, -INF):
        values = _with(bad, at=(0, 1))
        given = f"values {values.tolist()} and mask {MASK.tolist()} ({bad} at a token)"
        if seen := number_differs(masked_mean(values, MASK), bad, rtol=0.0, given=given):
            return seen
    return None


def mean_by_where(values, mask):
    kept = torch.where(mask.bool(), values, 0.0)
    return kept.sum() / mask.sum().clamp(min=1)


MEAN = Exercise(
    id="04.4",
    name="MEAN",
    title="A mean that padding cannot poison",
    minutes=5,
    difficulty="one or two lines",
    points=3,
    reads="masked_mean",
    expects=(Callable,),
    form=gives_one_number,
    hints=(
        "What is nan * 0?",
        "Select the values instead of multiplying them; and what if there is none to select?",
        "torch.where can put a 0 where the mask is 0. Then sum, and divide by a count that is "
        "never below 1.",
    ),
    criteria=(
        Criterion(
            "It is the mean of the values whose mask is 1.",
            is_the_mean_of_tokens,
            why="the number of tokens counts, not the size of the rectangle",
            next="by hand: add the values where the mask is 1, and divide by how many these are",
        ),
        Criterion(
            "Its gradient is 1 / number of tokens at each token, and 0 at padding.",
            gradient_reaches_the_tokens,
            why="this number is the loss: a mean without a graph trains nothing",
            next="stay with tensors, from the values to the result",
        ),
        Criterion(
            "Values at padding change nothing, not even nan or inf.",
            padding_does_not_count,
            why="nan * 0 is nan, so a product with the mask lets it through",
            next="select with torch.where or by index",
        ),
        Criterion(
            "Without a single token it is 0.",
            no_token_is_zero,
            why="0 / 0 is nan, and a mini-batch of empty replies happens",
            next="with nan: which division is by 0 here, or which product is 0 * nan? The mean of "
            "a selection divides by its length. Here too the result is a tensor",
        ),
        Criterion(
            "A nan or inf at a real token is not hidden.",
            a_bad_token_still_shows,
            why="a metric that hides what is broken costs you the warning",
            next="leave the values alone where the mask is 1",
        ),
    ),
    answer=mean_by_where,
)
