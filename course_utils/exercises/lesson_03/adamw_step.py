"""Exercise 03.3: AdamW's first step, computed in the format of the weights."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong

GRADIENTS = (0.0, 1e-6, 1e-4, 1e-3, 4e-3, 1e-2, 1e-1, -1e-1)
BETA1, BETA2 = 0.9, 0.999
ROUNDING = 0.05  # a few 16-bit operations differ by a few units in the last place, of 2**-8 each


def step_by_torch(grad, eps):
    """The first step of torch's own AdamW, in learning rates: from weight 0, with lr 1."""
    weight = torch.nn.Parameter(torch.zeros_like(grad))
    weight.grad = grad.clone()
    torch.optim.AdamW([weight], lr=1.0, eps=eps, weight_decay=0.0, foreach=False).step()
    return -weight.detach()


def _compare(first_adamw_step, dtype: torch.dtype, eps: float, rtol: float) -> str | None:
    grad = torch.tensor(GRADIENTS, dtype=dtype)
    given = f"grad {list(GRADIENTS)} in {str(dtype).removeprefix('torch.')} and eps {eps:g}"
    got = first_adamw_step(grad.clone(), eps)
    return tensor_differs(got, step_by_torch(grad, eps), rtol=rtol, given=given)


def step_in_float32(first_adamw_step) -> str | None:
    return _compare(first_adamw_step, torch.float32, 1e-8, 1e-3)


def step_in_float16(first_adamw_step) -> str | None:
    return _compare(first_adamw_step, torch.float16, 1e-8, ROUNDING)


def step_with_larger_eps(first_adamw_step) -> str | None:
    return _compare(first_adamw_step, torch.float32, 1e-3, 1e-3) or _compare(
        first_adamw_step, torch.float16, 1e-4, ROUNDING
    )


def step_by_operations(grad, eps):
    m = (1 - BETA1) * grad
    v = (1 - BETA2) * grad * grad
    return (m / (1 - BETA1)) / ((v / (1 - BETA2)).sqrt() + eps)


def step_without_bias_correction(grad, eps):
    return (1 - BETA1) * grad / (((1 - BETA2) * grad * grad).sqrt() + eps)


def step_in_float32_then_cast(grad, eps):
    return step_by_operations(grad.float(), eps).to(grad.dtype)


def step_as_sign(grad, eps):
    return grad.sign()


def step_with_fixed_eps(grad, eps):
    return step_by_operations(grad, 1e-8)


def step_with_clamped_denominator(grad, eps):
    v = ((1 - BETA2) * grad * grad / (1 - BETA2)).sqrt() + eps
    return grad / v.clamp(min=torch.finfo(grad.dtype).tiny)


STEP = Exercise(
    id="03.3",
    name="STEP",
    title="AdamW's first step, in the format of the weights",
    minutes=10,
    difficulty="a few lines",
    points=4,
    reads="first_adamw_step",
    expects=(Callable,),
    hints=(
        "In which dtype are m, v and eps held when the weight is float16?",
        "Round after every operation: m = 0.1 g, v = 0.001 g g, both in grad's own dtype.",
        "Undo the bias (m / 0.1, v / 0.001), take the root, add eps, divide; stay in the dtype.",
    ),
    criteria=(
        Criterion(
            "In float32 it is torch's AdamW.",
            step_in_float32,
            why="the formula must be right before its format can be blamed",
            next="compare m / 0.1 and v / 0.001 with the bias correction of the paper",
        ),
        Criterion(
            "In float16 it gives inf and nan where torch's AdamW does.",
            step_in_float16,
            why="0.001 g g is below 6e-8, the smallest float16, for every |g| below 5e-3",
            next="keep every intermediate result in grad.dtype, eps included",
        ),
        Criterion(
            "A larger eps changes it as it changes torch's.",
            step_with_larger_eps,
            why="eps is what stands between an update and a division by zero",
            next="add eps after the square root, as AdamW does",
        ),
    ),
    right=(step_by_operations, step_by_torch),
    wrong=(
        Wrong(step_without_bias_correction, caught_by=step_in_float32),
        Wrong(step_in_float32_then_cast, caught_by=step_in_float16),
        Wrong(step_as_sign, caught_by=step_in_float32),
        Wrong(step_with_fixed_eps, caught_by=step_with_larger_eps),
        Wrong(step_with_clamped_denominator, caught_by=step_in_float16),
    ),
)
