"""Exercise 04.3: k3 with a bound that also holds in the backward pass."""

from collections.abc import Callable

import torch

from course_utils.exercises.compare import tensor_differs
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.reproductions import verl_formulas

FORMATS = (torch.float32, torch.bfloat16, torch.float16)
NEAR = (-6.0, -3.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # k3 stays below 10 here
FAR = (0.0, 5.0, 10.0, 11.0, 12.0, 19.0, 25.0, 88.0, 89.0, 200.0, 3000.0, -12.0, -89.0, -3000.0)


def _value_and_gradient(bounded_kl, log_ratios, dtype: torch.dtype):
    logprob = torch.zeros(len(log_ratios), dtype=dtype, requires_grad=True)
    value = bounded_kl(logprob, torch.tensor(log_ratios, dtype=dtype))
    if isinstance(value, torch.Tensor) and value.requires_grad:
        value.float().sum().backward()
    return value, logprob.grad


def is_k3_nearby(bounded_kl) -> str | None:
    d = torch.tensor(NEAR)
    value, _ = _value_and_gradient(bounded_kl, NEAR, torch.float32)
    return tensor_differs(value, d.exp() - d - 1, rtol=1e-3, given=f"log-ratios {list(NEAR)}")


def gradient_is_k3s_nearby(bounded_kl) -> str | None:
    d = torch.tensor(NEAR)
    _, gradient = _value_and_gradient(bounded_kl, NEAR, torch.float32)
    if gradient is None:
        return "no gradient reaches logprob"
    given = f"the gradient at log-ratios {list(NEAR)}"
    return tensor_differs(gradient, 1 - d.exp(), rtol=1e-3, given=given)


def _first_not_finite(numbers, dtype: torch.dtype, what: str) -> str | None:
    if not isinstance(numbers, torch.Tensor):
        return f"the {what} is {numbers}, where a tensor is asked"
    for d, number in zip(FAR, numbers.tolist(), strict=True):
        if not abs(number) < float("inf"):
            name = str(dtype).removeprefix("torch.")
            return f"in {name}, at a log-ratio of {d:g}, the {what} is {number}"
    return None


def value_is_finite(bounded_kl) -> str | None:
    for dtype in FORMATS:
        value, _ = _value_and_gradient(bounded_kl, FAR, dtype)
        seen = _first_not_finite(value, dtype, "value")
        if seen:
            return seen
    return None


def gradient_is_finite(bounded_kl) -> str | None:
    for dtype in FORMATS:
        _, gradient = _value_and_gradient(bounded_kl, FAR, dtype)
        seen = _first_not_finite(gradient, dtype, "gradient")
        if seen:
            return seen
    return None


def kl_bounded_before_exp(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


def kl_in_float32(logprob, ref_logprob):
    d = torch.clamp(ref_logprob.float() - logprob.float(), min=-20, max=20)
    return torch.clamp(torch.exp(d) - d - 1, max=10)


def kl_as_in_0_2(logprob, ref_logprob):
    return verl_formulas.kl_penalty(logprob, ref_logprob, "low_var_kl")


def kl_as_in_0_4_1(logprob, ref_logprob):
    return verl_formulas.kl_penalty_0_4_1(logprob, ref_logprob, "low_var_kl")


def kl_unbounded(logprob, ref_logprob):
    d = ref_logprob - logprob
    return torch.exp(d) - d - 1


def kl_with_where(logprob, ref_logprob):
    d = ref_logprob - logprob
    return torch.where(d > 8, 10.0, torch.exp(d) - d - 1)


def kl_with_detached_ratio(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d.detach()) - d - 1


def kl_squared(logprob, ref_logprob):
    return 0.5 * (logprob - ref_logprob).clamp(-8, 8).square()


KL = Exercise(
    id="04.3",
    name="KL",
    title="Bound the KL, forward and backward",
    minutes=8,
    difficulty="one line moved",
    points=4,
    reads="bounded_kl",
    expects=(Callable,),
    hints=(
        "Through which operations does the gradient go on its way from the value to logprob?",
        "A clamp after exp sends a 0 backward; exp multiplies it by its own result, inf.",
        "Clamp ref_logprob - logprob itself, at a number below 11, and only then take exp.",
    ),
    criteria=(
        Criterion(
            "Nearby it is k3, exp(d) - d - 1 with d = ref_logprob - logprob.",
            is_k3_nearby,
            why="a bound is for the rare far token, not for the ordinary ones",
            next="compare at d = 1: exp(1) - 1 - 1 = 0.718",
        ),
        Criterion(
            "Nearby its gradient is k3's, 1 - exp(d).",
            gradient_is_k3s_nearby,
            why="a value without its gradient is a metric, not a loss",
            next="detach nothing",
        ),
        Criterion(
            "The value is finite for every log-ratio, in float32, bfloat16 and float16.",
            value_is_finite,
            why="one inf makes the mean inf",
            next="no log-ratio above 11.09 may reach exp in float16",
        ),
        Criterion(
            "The gradient is finite for every log-ratio, in all three formats.",
            gradient_is_finite,
            why="0 times inf is nan, and one nan is all that an optimizer needs",
            next="bound what goes into exp, not what comes out; mind float16",
        ),
    ),
    right=(kl_bounded_before_exp, kl_in_float32),
    wrong=(
        Wrong(kl_as_in_0_2, caught_by=gradient_is_finite),
        Wrong(kl_as_in_0_4_1, caught_by=gradient_is_finite),
        Wrong(kl_with_where, caught_by=gradient_is_finite),
        Wrong(kl_unbounded, caught_by=value_is_finite),
        Wrong(kl_with_detached_ratio, caught_by=gradient_is_k3s_nearby),
        Wrong(kl_squared, caught_by=is_k3_nearby),
    ),
)
