"""Exercise 03.3: AdamW's first step, computed in the format of the weights."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import SEEDS, SHAPES

GRADIENTS = (0.0, 1e-6, 1e-4, 1e-3, 4e-3, 1e-2, 1e-1, -1e-1)
BETA1, BETA2 = 0.9, 0.999
FLOAT16, BFLOAT16, FLOAT32 = torch.float16, torch.bfloat16, torch.float32
# What a few operations cost in each format, relative to the step.
ROUNDING = {FLOAT16: 0.05, BFLOAT16: 0.05, FLOAT32: 1e-3, torch.float64: 1e-3}
# The order of the operations may differ, and with it the last bits of a v near float16's end:
# gradients are drawn where v is 0 in any order, and where it has six bits or more.
SMALL, LARGE = (1e-6, 4e-3), (0.05, 30.0)


def step_by_torch(grad, eps):
    """The first step of torch's own AdamW, in learning rates: from weight 0, with lr 1."""
    weight = torch.nn.Parameter(torch.zeros_like(grad))
    weight.grad = grad.clone()
    torch.optim.AdamW([weight], lr=1.0, eps=eps, weight_decay=0.0, foreach=False).step()
    return 0.0 - weight.detach()  # not -0 for a gradient of 0


def _gradients(dtype: torch.dtype) -> Iterator[tuple[Tensor, str]]:
    """The gradients of the figure, then drawn ones of every shape, zeros among them."""
    name = str(dtype).removeprefix("torch.")
    yield torch.tensor(GRADIENTS, dtype=dtype), f"grad {list(GRADIENTS)} in {name}"
    for number, shape in enumerate(SHAPES):
        seed = SEEDS[number % len(SEEDS)] + number
        generator = torch.Generator().manual_seed(seed)
        low, high = (SMALL, LARGE)[number % 2]
        exponent = torch.rand(shape, generator=generator)
        sign = torch.randint(-1, 2, shape, generator=generator) if shape else 1
        grad = (sign * low * (high / low) ** exponent).to(dtype)
        yield grad, f"a {name} grad of shape {shape}, |g| from {low:g} to {high:g} (seed {seed})"


def _differs(first_adamw_step, dtype: torch.dtype, eps: float) -> str | None:
    for grad, named in _gradients(dtype):
        got, want = first_adamw_step(grad, eps), step_by_torch(grad, eps)
        given = f"{named} and eps {eps:g}"
        if seen := tensor_differs(got, want, rtol=ROUNDING[dtype], given=given):
            return seen
    return None


def is_a_tensor(first_adamw_step) -> str | None:
    got = first_adamw_step(torch.tensor([0.1, 0.2]), 1e-8)
    if isinstance(got, torch.Tensor):
        return None
    return f"it gives a {type(got).__name__}, where one tensor of the shape of grad is asked"


def step_in_wide_formats(first_adamw_step) -> str | None:
    for dtype in (FLOAT32, BFLOAT16, torch.float64):
        if seen := _differs(first_adamw_step, dtype, 1e-8):
            return seen
    return None


def step_in_float16(first_adamw_step) -> str | None:
    return _differs(first_adamw_step, FLOAT16, 1e-8)


def step_of_broken_gradients(first_adamw_step) -> str | None:
    inf = float("inf")
    for dtype in ROUNDING:
        grad = torch.tensor([[1.0, float("nan")], [inf, -inf]], dtype=dtype)
        got, want = first_adamw_step(grad, 1e-8), step_by_torch(grad, 1e-8)
        given = f"grad [[1, nan], [inf, -inf]] in {str(dtype).removeprefix('torch.')}, eps 1e-08"
        if seen := tensor_differs(got, want, rtol=ROUNDING[dtype], given=given):
            return seen
    return None


def step_with_larger_eps(first_adamw_step) -> str | None:
    for dtype, eps in ((FLOAT32, 1e-3), (FLOAT16, 1e-4), (FLOAT32, 0.1), (FLOAT16, 1e-2)):
        if seen := _differs(first_adamw_step, dtype, eps):
            return seen
    return None


def step_by_operations(grad, eps):
    m = (1 - BETA1) * grad
    v = (1 - BETA2) * grad * grad
    return (m / (1 - BETA1)) / ((v / (1 - BETA2)).sqrt() + eps)


STEP = Exercise(
    id="03.3",
    name="STEP",
    title="AdamW's first step, in the format of the weights",
    minutes=10,
    difficulty="a few lines",
    points=4,
    reads="first_adamw_step",
    expects=(Callable,),
    form=is_a_tensor,
    hints=(
        "In which dtype are m, v and eps held when the weight is float16?",
        "Round after every operation: m = 0.1 g, v = 0.001 g g, both in grad's own dtype.",
        "Two lines make m and v. A third corrects the bias and divides. Cast nothing, and do not "
        "simplify the formula before you compute it.",
    ),
    criteria=(
        Criterion(
            "In float32, bfloat16 and float64 it is torch's AdamW.",
            step_in_wide_formats,
            why="only if the formula is right can the format be the cause",
            next="compare m / 0.1, v / 0.001 and eps with the formula of the text; the step has "
            "grad's shape, dtype and sign, in learning rates",
        ),
        Criterion(
            "In float16 it gives inf and nan where torch's AdamW does.",
            step_in_float16,
            why="for |g| below 5e-3, 0.001 g g is below half of 6e-8, float16's smallest: it is 0",
            next="keep every intermediate result in grad.dtype, eps included",
        ),
        Criterion(
            "For a gradient that is nan or inf, it gives the step that torch's AdamW gives.",
            step_of_broken_gradients,
            why="a step that hides a broken gradient hides the failure",
            next="let nan and inf go through the formula like any other number",
        ),
        Criterion(
            "A larger eps changes it as it changes torch's step.",
            step_with_larger_eps,
            why="eps is there to prevent a division by zero",
            next="the divisor is the square root of v / 0.001, plus the eps that is given",
        ),
    ),
    answer=step_by_operations,
)
