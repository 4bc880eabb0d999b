"""Exercise 04.6: whether to take the optimizer step."""

import math
from collections.abc import Callable

import torch

from course_utils.checks.declare import Criterion, Exercise

FINITE = (0.0, 1e-8, 0.7, 300.0, 6e4)
LARGE = (1e30, 3e38)  # beyond float16
FORMATS = (torch.float32, torch.bfloat16, torch.float64, torch.float16)


def says_yes_or_no(may_step) -> str | None:
    got = may_step(torch.tensor(0.7))
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        return None
    if isinstance(got, (bool, int)) or type(got).__name__ == "bool":  # numpy's, too
        return None
    return f"True or False is asked for, and for a grad_norm of 0.7 it gives {got!r}"


def _first_wrong(may_step, norms: tuple[float, ...], want: bool) -> str | None:
    for dtype in FORMATS:
        for norm in norms:
            for grad_norm in (torch.tensor(norm, dtype=dtype), torch.tensor([norm], dtype=dtype)):
                if not math.isnan(norm) and grad_norm.isinf().item() != math.isinf(norm):
                    continue
                got = bool(may_step(grad_norm))
                if got != want:
                    name = str(dtype).removeprefix("torch.")
                    return f"for a grad_norm of {norm:g} in {name} it says {got}"
    return None


def takes_healthy_steps(may_step) -> str | None:
    return _first_wrong(may_step, FINITE + LARGE, True)


def refuses_nan(may_step) -> str | None:
    return _first_wrong(may_step, (math.nan,), False)


def refuses_inf(may_step) -> str | None:
    return _first_wrong(may_step, (math.inf,), False)


def step_if_finite(grad_norm):
    return torch.isfinite(grad_norm)


STEP = Exercise(
    id="04.6",
    name="STEP",
    title="Step, or not",
    minutes=3,
    difficulty="one line",
    points=2,
    reads="may_step",
    expects=(Callable,),
    form=says_yes_or_no,
    hints=(
        "Which norms would write inf or nan into the weights?",
        "A large finite norm is what clipping is for; only nan and inf cannot be repaired.",
        "There is a function in torch, and one in math, that is false for both of them.",
    ),
    criteria=(
        Criterion(
            "Every finite norm steps, 0 and the large ones too.",
            takes_healthy_steps,
            why="clipping has already made a large gradient small",
            next="ask whether it is finite, and nothing else",
        ),
        Criterion(
            "A nan does not step.",
            refuses_nan,
            why="nan compares false with everything, so many conditions let it through",
            next="try your condition with torch.tensor(float('nan')) in a cell",
        ),
        Criterion(
            "An inf does not step.",
            refuses_inf,
            why="clipping turns the inf itself into nan and everything else into 0",
            next="isnan does not see inf; isfinite sees both",
        ),
    ),
    answer=step_if_finite,
)
