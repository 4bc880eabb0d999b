"""Exercise 04.8: a bound for a trainer whose formula cannot be edited."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise

SHAPES = ((1,), (7,), (4, 6), (1, 5), (2, 3, 4), (16, 9))
BOUNDS = (10.0, 1.0, 5.0, 20.0, 80.0)
FAR_SHARES = (0.0, 1.0, 0.5, 0.1)  # of the tokens in one tensor
NUM_CASES = 24


@dataclass(frozen=True)
class Case:
    """Arguments of one call, and which of its tokens are beyond the bound."""

    ref: Tensor
    logps: Tensor  # with a gradient
    bound: float
    is_far: Tensor

    @property
    def given(self) -> str:
        log_ratio = self.ref - self.logps.detach()
        low, high = (f"{end.item():.4g}" for end in (log_ratio.min(), log_ratio.max()))
        them = f"log-ratios from {low} to {high}" if low != high else f"a log-ratio of {low}"
        return f"{them} and a bound of {self.bound:g}"


def _case(number: int) -> Case:
    """Log-ratios below the bound, beyond it, or some of each in one tensor."""
    generator = torch.Generator().manual_seed(number)
    shape, bound = SHAPES[number % len(SHAPES)], BOUNDS[number % len(BOUNDS)]
    draw, which = torch.rand((2, *shape), generator=generator)
    is_far = which < FAR_SHARES[number // len(SHAPES)]
    log_ratio = bound * torch.where(is_far, 1.05 + 4 * draw, 0.95 - 4 * draw)
    logps = -bound - 20 * torch.rand(shape, generator=generator)
    return Case(logps + log_ratio, logps.requires_grad_(), bound, is_far)


def gives_a_tensor_like_ref_logps(bounded_reference) -> str | None:
    ref = torch.full((2, 3), -1.0)
    got = bounded_reference(ref, (ref - 20).requires_grad_(), 10.0)
    if not isinstance(got, Tensor):
        return f"a tensor is asked for, and it gives a {type(got).__name__}"
    if got.shape != ref.shape or got.dtype != ref.dtype:
        return (
            f"float32 of shape (2, 3) is asked for, and it gives {got.dtype} of {tuple(got.shape)}"
        )
    return None


def leaves_near_tokens(bounded_reference) -> str | None:
    for case in map(_case, range(NUM_CASES)):
        got = bounded_reference(case.ref, case.logps, case.bound)
        got = torch.where(case.is_far, case.ref, got)
        if seen := tensor_differs(got, case.ref, rtol=1e-5, atol=1e-4, given=case.given):
            return seen
    ref = torch.tensor([-math.inf, -2.0, math.nan, -1.0])
    got = bounded_reference(ref, torch.full((4,), -3.0), 10.0)
    return tensor_differs(got, ref, rtol=1e-5, given=f"ref_logps {ref.tolist()}")


def brings_far_tokens_to_the_bound(bounded_reference) -> str | None:
    for case in map(_case, range(NUM_CASES)):
        got = bounded_reference(case.ref, case.logps, case.bound)
        got = (got - case.logps).detach()[case.is_far]
        wrong = ~((got - case.bound).abs() <= 1e-3)
        if wrong.any():
            seen = got[wrong][0].item()
            return f"for {case.given} a log-ratio beyond it is {seen:g} afterwards"
    return None


def trains_near_tokens_as_before(bounded_reference) -> str | None:
    for case in map(_case, range(NUM_CASES)):
        moved = bounded_reference(case.ref, case.logps, case.bound)
        d = moved.double() - case.logps.double()
        (torch.exp(d) - d - 1).sum().backward()  # TRL's formula
        want = 1 - (case.ref - case.logps.detach()).double().exp()
        got, want = (one.float().masked_fill(case.is_far, 0.0) for one in (case.logps.grad, want))
        given = f"{case.given}, the gradient of exp(d) - d - 1 at logps"
        if seen := tensor_differs(got, want, rtol=1e-3, atol=1e-4, given=given):
            return seen
    return None


def reference_by_minimum(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + max_log_ratio)


BOUND = Exercise(
    id="04.8",
    name="BOUND",
    title="Bound a formula that you cannot edit",
    minutes=6,
    difficulty="one line",
    points=3,
    reads="bounded_reference",
    expects=(Callable,),
    form=gives_a_tensor_like_ref_logps,
    hints=(
        "The trainer computes ref_logps - logps. Which of the two may you move?",
        "Lower ref_logps where it is more than max_log_ratio above logps, nowhere else.",
        "At each token it is the smaller of two numbers: ref_logps, and the highest that the bound "
        "allows.",
    ),
    criteria=(
        Criterion(
            "Where ref_logps is not more than the bound above logps, it stays as it is.",
            leaves_near_tokens,
            why="the ordinary tokens, nearly all, must be trained as before; far below is harmless",
            next="only a log-ratio above +max_log_ratio is to be changed",
        ),
        Criterion(
            "Where it is more, the log-ratio is max_log_ratio afterwards.",
            brings_far_tokens_to_the_bound,
            why="exp of it has to stay far below the largest number of the format",
            next="there ref_logps becomes logps + max_log_ratio",
        ),
        Criterion(
            "Within the bound the gradient is what it was.",
            trains_near_tokens_as_before,
            why="if the result moves with logps there, the KL no longer holds these tokens",
            next="within the bound give ref_logps itself, which does not depend on logps",
        ),
    ),
    answer=reference_by_minimum,
)
