"""Exercise 01.3: a k3 estimate whose value and gradient are finite, and right where they count."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong

BOUND = 20.0  # nats; inside it the estimate is exact, outside it is finite
RTOL, ATOL = 3e-5, 2e-6  # float32: exp(20 rounded) is off by 2e-6, 1 + tiny - 1 by 1e-7
INSIDE = torch.cat([torch.linspace(-BOUND, BOUND, 81), torch.tensor([-1e-3, 1e-4, 1e-3])])
ENDS = torch.tensor([25.0, 50.0, 88.7, 88.8, 104.0, 1e3, 1e4, 1e30])


def _pair(distance, dtype=torch.float32):
    """Log-probabilities of at most -1 whose log-ratio ref_logp - logp is `distance`."""
    logp = (-1 - distance.clamp(min=0)).to(dtype).requires_grad_()
    return logp, (distance.clamp(max=0) - 1).to(dtype)


def _oracle(logp, ref_logp):
    """Value and gradient for logp, in float64."""
    d = ref_logp.double() - logp.detach().double()
    return d, torch.exp(d) - d - 1, 1 - torch.exp(d)


def _first_difference(name: str, d, got, want) -> str | None:
    if not isinstance(got, torch.Tensor):
        return (
            f"the {name} is a {type(got).__name__}, where a tensor of one number a token is asked"
        )
    if got.shape != want.shape:
        return f"the {name} has shape {tuple(got.shape)}, it should be {tuple(want.shape)}"
    wrong = ~((got.detach().double() - want).abs() <= RTOL * want.abs() + ATOL)
    if not wrong.any():
        return None
    at = int(wrong.nonzero()[0])
    return f"at d = {d[at]:.4g} the {name} is {got[at].item():.5g}, float64 says {want[at]:.5g}"


def _gradient(k3, logp, ref_logp):
    value = k3(logp, ref_logp)
    if not value.requires_grad:
        return torch.zeros_like(logp)
    return torch.autograd.grad(value.sum(), logp, allow_unused=True, materialize_grads=True)[0]


def value_inside(k3) -> str | None:
    logp, ref_logp = _pair(INSIDE)
    d, want, _ = _oracle(logp, ref_logp)
    return _first_difference("value", d, k3(logp, ref_logp), want)


def gradient_inside(k3) -> str | None:
    inner = INSIDE[INSIDE.abs() < BOUND - 0.1]  # at the bound itself either side is right
    logp, ref_logp = _pair(inner)
    d, _, want = _oracle(logp, ref_logp)
    return _first_difference("gradient", d, _gradient(k3, logp, ref_logp), want)


def value_at_the_ends(k3) -> str | None:
    for distance in (*ENDS, *-ENDS):
        value = k3(*_pair(distance[None]))
        if not value.isfinite().all():
            return f"at d = {distance:.4g} the value is {value.item()}"
    return None


def gradient_at_the_ends(k3) -> str | None:
    for distance in (*ENDS, *-ENDS):
        gradient = _gradient(k3, *_pair(distance[None])).item()
        if not abs(gradient) < float("inf"):
            return f"at d = {distance:.4g} the gradient is {gradient}"
        if gradient * distance > 0:
            return f"at d = {distance:.4g} the gradient is {gradient:.4g}: it pushes away"
    return None


def float16_inputs(k3) -> str | None:
    ordinary = torch.tensor([-7.7, -0.3]).half(), torch.tensor([-0.0131, -0.303]).half()
    for logp, ref_logp in (_pair(INSIDE, torch.float16), ordinary):
        d, want, _ = _oracle(logp, ref_logp)
        seen = _first_difference("value for float16 inputs", d, k3(logp, ref_logp), want)
        if seen:
            return seen
    return None


def k3_with_bounded_ratio(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND)
    return d.exp() - d - 1


def k3_with_a_straight_tail(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-1e6, 1e6)
    near = d.clamp(max=BOUND)
    return torch.expm1(near) - d + (near.detach().exp() * (d - near))


def k3_plain(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return d.exp() - d - 1


def k3_clamped_after_exp(logp, ref_logp):
    return k3_plain(logp, ref_logp).clamp(max=5e8)


def k3_as_in_verl(logp, ref_logp):
    return k3_plain(logp, ref_logp).clamp(-10, 10)


def k3_nan_to_num(logp, ref_logp):
    return torch.nan_to_num(k3_plain(logp, ref_logp))


def k3_other_way_round(logp, ref_logp):
    return k3_with_bounded_ratio(ref_logp, logp)


def k3_ratio_detached(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND)
    return d.detach().exp() - d - 1


def k3_as_square(logp, ref_logp):
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).square() / 2


def k3_bounded_too_early(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(-5, 5)
    return d.exp() - d - 1


def k3_in_the_dtype_of_the_inputs(logp, ref_logp):
    d = (ref_logp - logp).clamp(-BOUND, BOUND)
    return d.exp() - d - 1


def k3_subtracting_in_float16(logp, ref_logp):
    d = (ref_logp - logp).float().clamp(-BOUND, BOUND)
    return d.exp() - d - 1


def k3_bounded_in_exp_alone(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return d.clamp(max=BOUND).exp() - d - 1


K3 = Exercise(
    id="01.3",
    name="K3",
    title="k3 with a gradient that holds",
    minutes=6,
    difficulty="two lines",
    points=4,
    reads="k3",
    expects=(Callable,),
    hints=(
        "Which number is inf at d = 89, and which operation multiplies its derivative by 0?",
        "Bound what goes into exp, not what comes out of it, and do it in float32.",
        "d = (ref_logp.float() - logp.float()).clamp(-20, 20), then exp(d) - d - 1.",
    ),
    criteria=(
        Criterion(
            "For |d| up to 20 the value is exp(d) - d - 1, as float64 has it.",
            value_inside,
            why="a bound inside the working range changes what is optimised",
            next="check the sign, d = ref_logp - logp, and that nothing is bounded before |d| = 20",
        ),
        Criterion(
            "For |d| below 20 the gradient for logp is 1 - exp(d), as float64 has it.",
            gradient_inside,
            why="training sees the gradient only; a right value proves nothing",
            next="does the graph lead from exp(d) back to logp?",
        ),
        Criterion(
            "Beyond that the value stays finite.",
            value_at_the_ends,
            why="exp is inf in float32 from 88.73 on",
            next="try d = 89 and d = 1000",
        ),
        Criterion(
            "Beyond that the gradient is finite and never pushes away from the reference.",
            gradient_at_the_ends,
            why="a clamp after exp sends 0 back, and 0 times inf is nan; bounding d in exp alone "
            "leaves the gradient of -d, which pushes away",
            next="bound d itself, once, before both of its uses",
        ),
        Criterion(
            "float16 log-probabilities give the same values.",
            float16_inputs,
            why="exp in float16 is inf from 11.1 on, and the subtraction alone rounds to 11 bits",
            next="which operation is the first, and in which dtype does it run?",
        ),
    ),
    right=(k3_with_bounded_ratio, k3_with_a_straight_tail),
    wrong=(
        Wrong(k3_plain, caught_by=value_at_the_ends),
        Wrong(k3_clamped_after_exp, caught_by=gradient_at_the_ends),
        Wrong(k3_nan_to_num, caught_by=gradient_at_the_ends),
        Wrong(k3_as_in_verl, caught_by=value_inside),
        Wrong(k3_other_way_round, caught_by=value_inside),
        Wrong(k3_as_square, caught_by=value_inside),
        Wrong(k3_bounded_too_early, caught_by=value_inside),
        Wrong(k3_ratio_detached, caught_by=gradient_inside),
        Wrong(k3_in_the_dtype_of_the_inputs, caught_by=float16_inputs),
        Wrong(k3_subtracting_in_float16, caught_by=float16_inputs),
        Wrong(k3_bounded_in_exp_alone, caught_by=gradient_at_the_ends),
    ),
)
