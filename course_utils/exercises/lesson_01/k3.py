"""Exercise 01.3: a k3 estimate whose value and gradient are finite, and right where they count."""

from collections.abc import Callable

import torch

from course_utils.checks import checking
from course_utils.checks.compare import told_apart
from course_utils.checks.declare import Criterion, Exercise, Wrong
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


def k3_with_a_narrow_linear_part(logp, ref_logp):
    narrow = (ref_logp - logp).clamp(-BOUND, BOUND)
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).exp() - narrow.float() - 1


def k3_narrow_then_wide(logp, ref_logp):
    d = (ref_logp - logp).clamp(-BOUND, BOUND)
    return (d.exp() - d - 1).float()


def k3_with_a_far_bound(logp, ref_logp):
    d = torch.clamp(ref_logp.float() - logp.float(), -60, 60)
    return torch.expm1(d) - d


def k3_with_a_line_beyond(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return torch.where(d > 20, 4.85e8 * (d - 20) + 4.85e8 - 21, torch.expm1(d.clamp(max=20)) - d)


def k3_bounded_from_above(logp, ref_logp):
    d = torch.sub(ref_logp.to(torch.float32), logp.to(torch.float32))
    d = torch.minimum(d, torch.full_like(d, 80.0))
    return torch.exp(d).sub(1).sub(d)


def k3_in_float64(logp, ref_logp):
    d = (ref_logp.double() - logp.double()).clamp(-20, 20)
    return torch.expm1(d) - d


def k3_in_float64_and_back(logp, ref_logp):
    return k3_in_float64(logp, ref_logp).float()


def k3_of_the_mean(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp).mean()


def k3_as_a_pair(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp), ref_logp - logp


def k3_that_clamps_in_place(logp, ref_logp):
    d = ref_logp.float() - logp.data.clamp_(min=-21).float()
    return d.clamp(-BOUND, BOUND).exp() - d - 1


def k3_bounding_each_log_probability(logp, ref_logp):
    d = ref_logp.float().clamp(min=-30) - logp.float().clamp(min=-30)
    return d.clamp(-BOUND, BOUND).exp() - d.clamp(-BOUND, BOUND) - 1


def k3_without_the_linear_part(logp, ref_logp):
    return (ref_logp.float() - logp.float()).clamp(-BOUND, BOUND).exp() - 1


def k3_where_after_exp(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return torch.where(d > BOUND, 4.85e8, torch.where(d < -BOUND, 19.0, d.exp() - d - 1))


def k3_bounded_only_below(logp, ref_logp):
    d = (ref_logp.float() - logp.float()).clamp(min=-BOUND)
    return torch.expm1(d) - d


def k3_pulling_by_one_beyond(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    return (
        torch.expm1(d.clamp(-BOUND, BOUND)) - d.clamp(-BOUND, BOUND) + (d - d.detach()) * (d > 20)
    )


def k3_at_least_in_float32(logp, ref_logp):
    wide = torch.promote_types(logp.dtype, torch.float32)
    d = (ref_logp.to(wide) - logp.to(wide)).clamp(-BOUND, BOUND)
    return torch.expm1(d) - d


def k3_pushing_away_between(low, high):
    def k3_with_a_dent(logp, ref_logp):
        d = ref_logp.float() - logp.float()
        pushes = (d > low) & (d < high)
        return k3_with_bounded_ratio(logp, ref_logp) - torch.where(pushes, d - d.detach(), 0.0)

    return k3_with_a_dent


def k3_zero_at_the_bound(logp, ref_logp):
    d = ref_logp.float() - logp.float()
    near = d.abs() < BOUND
    d = torch.where(near, d, 0.0)
    return torch.expm1(d) - d


def k3_flattening_its_planes(logp, ref_logp):
    return k3_with_bounded_ratio(logp, ref_logp) if logp.dim() < 3 else k3_as_square(logp, ref_logp)


K3 = Exercise(
    id="01.3",
    name="K3",
    title="k3 with a gradient that holds",
    minutes=5,
    difficulty="two lines",
    points=4,
    reads="k3",
    expects=(Callable,),
    hints=(
        "Which number is inf at d = 89, and which operation multiplies its derivative by 0?",
        "Bound what goes into exp, not what comes out of it, and do it in float32.",
        "Subtract in float32 and bound that difference once, at 20 or further out; which of exp(d) "
        "and d must then use it?",
    ),
    form=returns_float32,
    criteria=(
        Criterion(
            "For |d| below 20 the value is exp(d) - d - 1, as float64 has it.",
            value_inside,
            why="a bound inside the working range changes what is optimised",
            next="check the sign, d = ref_logp - logp, and that nothing is bounded before |d| = 20",
        ),
        Criterion(
            "For |d| below 20 the gradient for logp is 1 - exp(d), as float64 has it.",
            gradient_inside,
            why="training sees the gradient only; a right value proves nothing",
            next="work out 1 - exp(d) at the d above by hand: which part of your formula sends "
            "logp something else?",
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
            why="0 sent back into an exp that is inf is nan; and where only exp is bounded, the "
            "gradient of -d is left, which pushes away",
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
    right=(
        k3_with_bounded_ratio,
        k3_with_a_straight_tail,
        k3_with_a_far_bound,
        k3_with_a_line_beyond,
        k3_bounded_from_above,
        k3_in_float64_and_back,
        k3_pulling_by_one_beyond,
        k3_zero_at_the_bound,
    ),
    wrong=(
        Wrong(k3_in_float64, caught_by=returns_float32),
        Wrong(k3_in_the_dtype_of_the_inputs, caught_by=returns_float32),
        Wrong(k3_at_least_in_float32, caught_by=returns_float32),
        Wrong(k3_of_the_mean, caught_by=returns_float32),
        Wrong(k3_as_a_pair, caught_by=returns_float32),
        Wrong(k3_that_clamps_in_place, caught_by=checking.leaves_its_inputs_alone),
        Wrong(k3_as_in_verl, caught_by=value_inside),
        Wrong(k3_other_way_round, caught_by=value_inside),
        Wrong(k3_as_square, caught_by=value_inside),
        Wrong(k3_bounded_too_early, caught_by=value_inside),
        Wrong(k3_bounding_each_log_probability, caught_by=value_inside),
        Wrong(k3_without_the_linear_part, caught_by=value_inside),
        Wrong(k3_flattening_its_planes, caught_by=value_inside),
        Wrong(k3_ratio_detached, caught_by=gradient_inside),
        Wrong(k3_plain, caught_by=value_at_the_ends),
        Wrong(k3_bounded_only_below, caught_by=value_at_the_ends),
        Wrong(k3_clamped_after_exp, caught_by=gradient_at_the_ends),
        Wrong(k3_nan_to_num, caught_by=gradient_at_the_ends),
        Wrong(k3_where_after_exp, caught_by=gradient_at_the_ends),
        Wrong(k3_bounded_in_exp_alone, caught_by=gradient_at_the_ends),
        Wrong(k3_pushing_away_between(20.5, 24), caught_by=gradient_at_the_ends),
        Wrong(k3_pushing_away_between(30, 40), caught_by=gradient_at_the_ends),
        Wrong(k3_narrow_then_wide, caught_by=narrow_inputs),
        Wrong(k3_subtracting_in_float16, caught_by=narrow_inputs),
        Wrong(k3_with_a_narrow_linear_part, caught_by=narrow_inputs),
    ),
)
