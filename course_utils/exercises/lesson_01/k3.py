"""Exercise 01.3: a k3 estimate whose value and gradient are finite, and right where they count."""

from collections.abc import Callable

import torch

from course_utils.checks.compare import told_apart
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import has_form

BOUND = 20.0  # nats; inside it the estimate is exact, outside it is finite
FARTHEST = 1e6  # nats; log-probabilities of finite 16-bit and 32-bit logits seldom differ by more
RTOL, ATOL = 3e-5, 2e-6  # float32: exp(20 rounded) is off by 2e-6, 1 + tiny - 1 by 1e-7
NEAR = BOUND - 0.01
INSIDE = torch.cat([torch.linspace(-NEAR, NEAR, 81), torch.tensor([-1e-3, 1e-4, 1e-3])])
ENDS = torch.cat([torch.linspace(BOUND, 110, 721), torch.logspace(2, 6, 81)]).clamp(max=FARTHEST)
SHAPES = ((), (1,), (84,), (1, 84), (4, 21), (2, 6, 7))


def _pair(distance, dtype=torch.float32, start=-1.0):
    """Log-probabilities of at most `start` whose log-ratio ref_logp - logp is `distance`."""
    logp = (start - distance.clamp(min=0)).to(dtype).requires_grad_()
    return logp, (distance.clamp(max=0) + start).to(dtype)


def _draw(generator, shape, dtype):
    logp, ref_logp = (-6 * torch.rand(shape, generator=generator) for _ in range(2))
    return logp.to(dtype), ref_logp.to(dtype)


returns_float32 = has_form(
    _draw,
    shapes=SHAPES,
    dtypes=(torch.float32, torch.float16, torch.bfloat16, torch.float64),
    result_dtype=lambda dtype: torch.float32,
)


def _oracle(logp, ref_logp):
    """Value and gradient for logp, in float64."""
    d = ref_logp.double() - logp.detach().double()
    return d, torch.exp(d) - d - 1, 1 - torch.exp(d)


def _first_difference(name: str, d, got, want) -> str | None:
    wrong = ~((got.detach().double() - want).abs() <= RTOL * want.abs() + ATOL)
    if not wrong.any():
        return None
    at = tuple(wrong.nonzero()[0].tolist())
    mine, right = told_apart(got[at].item(), want[at].item())
    return f"at d = {d[at]:.5g} the {name} is {mine}, float64 says {right}"


def _gradient(k3, logp, ref_logp):
    value = k3(logp, ref_logp)
    if not value.requires_grad:
        return torch.zeros_like(logp)
    return torch.autograd.grad(value.sum(), logp, allow_unused=True, materialize_grads=True)[0]


def _pairs_inside(distances):
    """The same distances between likely and between unlikely tokens, in several shapes."""
    yield _pair(distances)
    yield _pair(distances, start=-32.0)
    yield _pair(distances.flip(0)[: 2 * (len(distances) // 2)].reshape(2, -1))
    yield _pair(distances[: 4 * (len(distances) // 4)].reshape(2, 2, -1))
    yield _pair(distances[3])


def value_inside(k3) -> str | None:
    for logp, ref_logp in _pairs_inside(INSIDE):
        d, want, _ = _oracle(logp, ref_logp)
        if seen := _first_difference("value", d, k3(logp, ref_logp), want):
            return seen
    return None


def gradient_inside(k3) -> str | None:
    for logp, ref_logp in _pairs_inside(INSIDE):
        d, _, want = _oracle(logp, ref_logp)
        if seen := _first_difference("gradient", d, _gradient(k3, logp, ref_logp), want):
            return seen
    return None


def value_at_the_ends(k3) -> str | None:
    for distances in (ENDS, -ENDS):
        for distance, value in zip(distances, k3(*_pair(distances)), strict=True):
            if not value.isfinite():
                return f"at d = {distance:.4g} the value is {value.item()}"
    return None


def gradient_at_the_ends(k3) -> str | None:
    for distances in (ENDS, -ENDS):
        gradients = _gradient(k3, *_pair(distances)).tolist()
        for distance, gradient in zip(distances.tolist(), gradients, strict=True):
            if not abs(gradient) < float("inf"):
                return f"at d = {distance:.4g} the gradient is {gradient}"
            if gradient * distance > 0:
                return f"at d = {distance:.4g} the gradient is {gradient:.4g}: it pushes away"
    return None


def narrow_inputs(k3) -> str | None:
    ordinary = torch.tensor([-7.7, -0.3, -0.0131]), torch.tensor([-0.0131, -0.303, -7.7])
    for dtype in (torch.float16, torch.bfloat16):
        for pair in (_pair(INSIDE, dtype), tuple(part.to(dtype) for part in ordinary)):
            d, want, _ = _oracle(*pair)
            inside = d.abs() < BOUND  # rounding to the format may carry a pair across the bound
            got = torch.where(inside, k3(*pair).double(), want)
            if seen := _first_difference(f"value for {dtype} inputs", d, got, want):
                return seen
    return None


def k3_with_bounded_ratio(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-20.0, 20.0)
    return d.exp() - d - 1


K3 = Exercise(
    id="01.3",
    name="K3",
    title="k3 with a gradient that holds",
    minutes=7,
    difficulty="two lines",
    points=4,
    reads="k3",
    expects=(Callable,),
    hints=(
        "Which number is inf at d = 89, and what does the clamp send back to it as a gradient?",
        "Bound what goes into exp, not what comes out of it, and do it in float32.",
        "Subtract in float32 and bound that difference once, at 20 or above. Which of exp(d) and d "
        "must then use it?",
    ),
    form=returns_float32,
    criteria=(
        Criterion(
            "For |d| below 20 the value is exp(d) - d - 1, as in float64.",
            value_inside,
            why="a bound inside the working range changes what is optimised",
            next="check the sign, d = ref_logp - logp, and that nothing is bounded before |d| = 20",
        ),
        Criterion(
            "For |d| below 20 the gradient for logp is 1 - exp(d), as in float64.",
            gradient_inside,
            why="training uses only the gradient; a right value proves nothing",
            next="work out 1 - exp(d) at the d above by hand: which part of your formula "
            "gives logp another gradient?",
        ),
        Criterion(
            f"Beyond that the value stays finite, up to |d| = {FARTHEST:g}.",
            value_at_the_ends,
            why="exp is inf in float32 from 88.73 on",
            next="print the value for the d above: which operation made it?",
        ),
        Criterion(
            "Beyond that the gradient is finite and never pushes away from the reference.",
            gradient_at_the_ends,
            why="a gradient of 0 times an exp of inf is nan; and if only exp is bounded, the "
            "gradient of -d remains, which pushes away",
            next="bound d itself, once, before both of its uses",
        ),
        Criterion(
            "float16 and bfloat16 log-probabilities give the values of float32.",
            narrow_inputs,
            why="exp in float16 is inf from 11.1 on, and the subtraction alone rounds to 11 bits "
            "or to 8",
            next="which operation is the first, and in which dtype does it run?",
        ),
    ),
    answer=k3_with_bounded_ratio,
)
