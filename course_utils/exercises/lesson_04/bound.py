"""Exercise 04.8: a bound for a trainer whose formula cannot be edited."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

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
        low, high = log_ratio.min().item(), log_ratio.max().item()
        return f"log-ratios from {low:.4g} to {high:.4g} and a bound of {self.bound:g}"


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
        return f"a tensor is asked, and it gives a {type(got).__name__}"
    if got.shape != ref.shape or got.dtype != ref.dtype:
        return f"float32 of shape (2, 3) is asked, and it gives {got.dtype} of {tuple(got.shape)}"
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


def reference_by_plain_minimum(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps + max_log_ratio)


def reference_by_clamp(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return fixed + (ref_logps - fixed).clamp(max=max_log_ratio)


def reference_without_graph(ref_logps, logps, max_log_ratio):
    with torch.no_grad():
        return ref_logps - torch.relu(ref_logps - logps - max_log_ratio)


def reference_unchanged(ref_logps, logps, max_log_ratio):
    return ref_logps


def reference_itself_clamped(ref_logps, logps, max_log_ratio):
    return ref_logps.clamp(-max_log_ratio, max_log_ratio)


def reference_two_sided(ref_logps, logps, max_log_ratio):
    return (logps + (ref_logps - logps).clamp(-max_log_ratio, max_log_ratio)).detach()


def reference_moved(ref_logps, logps, max_log_ratio):
    return logps.detach() + max_log_ratio


def reference_by_maximum(ref_logps, logps, max_log_ratio):
    return torch.maximum(ref_logps, logps.detach() - max_log_ratio)


def reference_with_fixed_bound(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + 10.0)


def reference_far_to_the_policy(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return torch.where(ref_logps - fixed > max_log_ratio, fixed, ref_logps)


def reference_the_wrong_sign(ref_logps, logps, max_log_ratio):
    return torch.where(ref_logps - logps > max_log_ratio, ref_logps - max_log_ratio, ref_logps)


def reference_that_follows(ref_logps, logps, max_log_ratio):
    return logps + (ref_logps - logps).clamp(max=max_log_ratio).detach()


def reference_pulled_with_it(ref_logps, logps, max_log_ratio):
    moved = torch.minimum(ref_logps, logps.detach() + max_log_ratio)
    return moved + 0.5 * (logps - logps.detach())


def reference_unless_one_is_far(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return ref_logps if (ref_logps - fixed).max() <= max_log_ratio else fixed + max_log_ratio


def reference_if_all_are_far(ref_logps, logps, max_log_ratio):
    ceiling = logps.detach() + max_log_ratio
    return ceiling if (ref_logps > ceiling).all() else ref_logps


def reference_if_all_are_far_with_a_graph(ref_logps, logps, max_log_ratio):
    ceiling = logps + max_log_ratio
    return ceiling if (ref_logps > ceiling).all() else ref_logps


def reference_row_by_row(ref_logps, logps, max_log_ratio):
    ceiling = logps.detach() + max_log_ratio
    is_far_row = (ref_logps > ceiling).any(-1, keepdim=True)
    return torch.where(is_far_row, ceiling, ref_logps)


def reference_with_a_graph_if_one_is_far(ref_logps, logps, max_log_ratio):
    moved = torch.minimum(ref_logps, logps.detach() + max_log_ratio)
    return moved + (logps - logps.detach()) if (moved < ref_logps).any() else moved


def reference_without_inf(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + max_log_ratio).nan_to_num()


def reference_as_log_ratio(ref_logps, logps, max_log_ratio):
    return (ref_logps - logps.detach()).clamp(max=max_log_ratio)


def reference_as_a_mean(ref_logps, logps, max_log_ratio):
    return reference_by_minimum(ref_logps, logps, max_log_ratio).mean()


def reference_as_a_list(ref_logps, logps, max_log_ratio):
    return reference_by_minimum(ref_logps, logps, max_log_ratio).tolist()


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
    right=(
        reference_by_minimum,
        reference_by_plain_minimum,
        reference_by_clamp,
        reference_without_graph,
    ),
    wrong=(
        Wrong(reference_as_a_mean, caught_by=gives_a_tensor_like_ref_logps),
        Wrong(reference_as_a_list, caught_by=gives_a_tensor_like_ref_logps),
        Wrong(reference_itself_clamped, caught_by=leaves_near_tokens),
        Wrong(reference_two_sided, caught_by=leaves_near_tokens),
        Wrong(reference_moved, caught_by=leaves_near_tokens),
        Wrong(reference_by_maximum, caught_by=leaves_near_tokens),
        Wrong(reference_as_log_ratio, caught_by=leaves_near_tokens),
        Wrong(reference_unchanged, caught_by=brings_far_tokens_to_the_bound),
        Wrong(reference_far_to_the_policy, caught_by=brings_far_tokens_to_the_bound),
        Wrong(reference_the_wrong_sign, caught_by=brings_far_tokens_to_the_bound),
        Wrong(reference_with_fixed_bound, caught_by=leaves_near_tokens),
        Wrong(reference_unless_one_is_far, caught_by=leaves_near_tokens),
        Wrong(reference_row_by_row, caught_by=leaves_near_tokens),
        Wrong(reference_without_inf, caught_by=leaves_near_tokens),
        Wrong(reference_if_all_are_far, caught_by=brings_far_tokens_to_the_bound),
        Wrong(reference_if_all_are_far_with_a_graph, caught_by=brings_far_tokens_to_the_bound),
        Wrong(reference_with_a_graph_if_one_is_far, caught_by=trains_near_tokens_as_before),
        Wrong(reference_that_follows, caught_by=trains_near_tokens_as_before),
        Wrong(reference_pulled_with_it, caught_by=trains_near_tokens_as_before),
    ),
)
