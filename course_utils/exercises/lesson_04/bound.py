"""Exercise 04.8: a bound for a trainer whose formula cannot be edited."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

LOGPS = (-0.1, -2.0, -9.0, -40.0, -150.0, -30.0)
NEAR = (0.0, 5.0, -5.0, 9.5, -9.5, 1.0)  # log-ratios within 10
FAR = (11.0, 40.0, 89.0, 300.0, 20.0, 12.0)


def _case(log_ratios) -> tuple[torch.Tensor, torch.Tensor]:
    """Reference and policy log-probs, (2, 3), at these distances from each other."""
    logps = torch.tensor(LOGPS).view(2, 3)
    return logps + torch.tensor(log_ratios).view(2, 3), logps.requires_grad_()


def leaves_near_tokens(bounded_reference) -> str | None:
    ref, logps = _case(NEAR)
    got = bounded_reference(ref.detach(), logps, 10.0)
    given = f"log-ratios {list(NEAR)} and a bound of 10"
    return tensor_differs(got, ref.detach(), rtol=1e-6, given=given)


def brings_far_tokens_in(bounded_reference) -> str | None:
    ref, logps = _case(FAR)
    got = bounded_reference(ref.detach(), logps, 10.0)
    largest = (got - logps).detach().max().item()
    if largest <= 10.001:
        return None
    return f"for log-ratios {list(FAR)} and a bound of 10 the largest is {largest:g} afterwards"


def is_a_constant(bounded_reference) -> str | None:
    for log_ratios in (FAR, NEAR):
        ref, logps = _case(log_ratios)
        got = bounded_reference(ref.detach(), logps, 10.0)
        if isinstance(got, torch.Tensor) and got.requires_grad:
            return "the result has a gradient, so the loss would train through the reference"
    return None


def reference_by_minimum(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps.detach() + max_log_ratio)


def reference_by_clamp(ref_logps, logps, max_log_ratio):
    fixed = logps.detach()
    return fixed + (ref_logps - fixed).clamp(max=max_log_ratio)


def reference_with_gradient(ref_logps, logps, max_log_ratio):
    return torch.minimum(ref_logps, logps + max_log_ratio)


def reference_unchanged(ref_logps, logps, max_log_ratio):
    return ref_logps


def reference_itself_clamped(ref_logps, logps, max_log_ratio):
    return ref_logps.clamp(-max_log_ratio, max_log_ratio)


def reference_moved(ref_logps, logps, max_log_ratio):
    return logps.detach() + max_log_ratio


BOUND = Exercise(
    id="04.8",
    name="BOUND",
    title="Bound a formula that you cannot edit",
    minutes=6,
    difficulty="one line",
    points=3,
    reads="bounded_reference",
    expects=(Callable,),
    hints=(
        "The trainer computes ref_logps - logps. Which of the two may you move?",
        "Lower ref_logps where it is more than max_log_ratio above logps, nowhere else.",
        "torch.minimum(ref_logps, logps.detach() + max_log_ratio).",
    ),
    criteria=(
        Criterion(
            "Where the log-ratio is within the bound, nothing changes.",
            leaves_near_tokens,
            why="the ordinary tokens, nearly all, must be trained as before",
            next="compare with logps + max_log_ratio, not with a fixed number",
        ),
        Criterion(
            "No log-ratio is beyond the bound afterwards.",
            brings_far_tokens_in,
            why="exp of it has to stay far below the largest number of the format",
            next="take the smaller of ref_logps and logps + max_log_ratio",
        ),
        Criterion(
            "The result is a constant, without a gradient.",
            is_a_constant,
            why="with one, the two gradients cancel and a far token is never pulled back",
            next="detach logps before you use it here",
        ),
    ),
    right=(reference_by_minimum, reference_by_clamp),
    wrong=(
        Wrong(reference_unchanged, caught_by=brings_far_tokens_in),
        Wrong(reference_itself_clamped, caught_by=leaves_near_tokens),
        Wrong(reference_moved, caught_by=leaves_near_tokens),
        Wrong(reference_with_gradient, caught_by=is_a_constant),
    ),
)
