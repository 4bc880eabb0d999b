"""Exercise 04.6: whether to take the optimizer step."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong

FINITE = (0.0, 1e-8, 0.7, 300.0, 1e30)


def _says(may_step, norm: float, want: bool) -> str | None:
    got = may_step(torch.tensor(norm))
    return None if bool(got) == want else f"for a grad_norm of {norm:g} it says {bool(got)}"


def takes_healthy_steps(may_step) -> str | None:
    return next(filter(None, (_says(may_step, norm, True) for norm in FINITE)), None)


def refuses_nan(may_step) -> str | None:
    return _says(may_step, float("nan"), False)


def refuses_inf(may_step) -> str | None:
    return _says(may_step, float("inf"), False)


def step_if_finite(grad_norm):
    return torch.isfinite(grad_norm)


def step_if_below_inf(grad_norm):
    return grad_norm < float("inf")


def step_always(grad_norm):
    return True


def step_if_small(grad_norm):
    return grad_norm < 100


def step_unless_nan(grad_norm):
    return not grad_norm.isnan()


def step_unless_inf(grad_norm):
    return not grad_norm.isinf()


STEP = Exercise(
    id="04.6",
    name="STEP",
    title="Step, or not",
    minutes=3,
    difficulty="one line",
    points=2,
    reads="may_step",
    expects=(Callable,),
    hints=(
        "Which norms would write inf or nan into the weights?",
        "A large finite norm is what clipping is for; only nan and inf are past help.",
        "torch.isfinite(grad_norm) is false for both.",
    ),
    criteria=(
        Criterion(
            "Every finite norm steps, the large ones too.",
            takes_healthy_steps,
            why="clipping has already made a large gradient small",
            next="ask whether it is finite, not whether it is small",
        ),
        Criterion(
            "A nan does not step.",
            refuses_nan,
            why="nan compares false with everything, so many conditions let it through",
            next="try your condition with float('nan') in a cell",
        ),
        Criterion(
            "An inf does not step.",
            refuses_inf,
            why="clipping turns the inf itself into nan and everything else into 0",
            next="isnan does not see inf; isfinite sees both",
        ),
    ),
    right=(step_if_finite, step_if_below_inf),
    wrong=(
        Wrong(step_always, caught_by=refuses_nan),
        Wrong(step_unless_inf, caught_by=refuses_nan),
        Wrong(step_if_small, caught_by=takes_healthy_steps),
        Wrong(step_unless_nan, caught_by=refuses_inf),
    ),
)
