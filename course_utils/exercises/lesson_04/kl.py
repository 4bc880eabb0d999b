"""Exercise 04.3: k3 with a bound that also holds in the backward pass."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_utils import diagnostics
from course_utils.checks.compare import number_differs, tensor_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.probes import Trial, gradient_of, trials
from course_utils.exercises.lesson_04.hooks import hangs_a_hook

NEAR = 2.0  # nats; the text asks that nothing changes up to here
NAMED = (1.0, -1.0, 2.0, -2.0, 0.5)  # log-ratios at which a difference is named before any other
FORMATS = (torch.float32, torch.bfloat16, torch.float16)
FAR = (0.0, 3.0, 5.0, 7.0, 9.0, 10.0, 11.0, 11.09, 11.2, 12.0, 15.0, 19.0, 25.0, 40.0)
FAR += (88.0, 89.0, 200.0, 3000.0, 60000.0)
DISTANCES = FAR + tuple(-d for d in FAR[1:]) + (60000.0, 60000.0)  # their sum is no float16
# What exp(d) - d - 1 loses to cancellation and to the rounding of d, in nats.
ROUNDING = {torch.float32: 1e-5, torch.float16: 0.03, torch.bfloat16: 0.25, torch.float64: 1e-12}


def k3(logprob: Tensor, ref_logprob: Tensor) -> Tensor:
    """The formula itself, for inputs in float64."""
    d = ref_logprob - logprob
    return torch.expm1(d) - d


def _near(generator: torch.Generator, shape: tuple[int, ...], dtype: torch.dtype) -> tuple:
    logprob = -5 * torch.rand(shape, generator=generator)
    d = NEAR * (2 * torch.rand(shape, generator=generator) - 1)
    return logprob.to(dtype), (logprob + d).to(dtype)


def _near_and_far(generator: torch.Generator, shape: tuple[int, ...], dtype: torch.dtype) -> tuple:
    """As `_near`, with every third token as far away as one of `DISTANCES`."""
    logprob, ref_logprob = _near(generator, shape, dtype)
    d = torch.tensor(DISTANCES)[torch.randint(len(DISTANCES), shape, generator=generator)]
    is_far = torch.rand(shape, generator=generator) < 1 / 3
    return logprob, torch.where(is_far, logprob + d.to(dtype), ref_logprob)


def _at_near(args: tuple, numbers: Tensor) -> Tensor:
    """`numbers` in float64, with 0 at the tokens that are further away than the text asks about."""
    logprob, ref_logprob = (arg.double() for arg in args)
    is_far = (ref_logprob - logprob).abs() > NEAR * 1.01
    return numbers.double().masked_fill(is_far, 0.0)


def _named(trial: Trial) -> str:
    far = (trial.args[1].double() - trial.args[0].double()).abs().max().item()
    others = f" (elsewhere up to {far:.5g})" if far > NEAR * 1.01 else ""
    return f"{trial.given}, a token with |d| up to {NEAR:g}{others}"


def _all_trials() -> Iterator[Trial]:
    yield from trials(_near, dtypes=tuple(ROUNDING))
    yield from trials(_near_and_far, dtypes=tuple(ROUNDING))


def gives_a_tensor_like_its_inputs(bounded_kl) -> str | None:
    for shape in ((2, 3), (4,)):
        logprob = torch.full(shape, -1.0)
        got = bounded_kl(logprob, logprob - 0.5)
        if not isinstance(got, Tensor):
            return f"a tensor is asked for, and it gives a {type(got).__name__}"
        if got.shape != shape:
            return (
                f"one value per token is asked for: shape {shape}, and it gives {tuple(got.shape)}"
            )
        if not got.is_floating_point():
            return f"floating-point numbers are asked for, and it gives {got.dtype}"
    return hangs_a_hook(bounded_kl, (logprob, logprob - 0.5))


def _at_named(d: float) -> tuple[str, tuple[Tensor, Tensor]]:
    """The words for one token at log-ratio `d`, and its log-probs, each of shape (1,)."""
    logprob = torch.tensor([-4.0])
    return f"d = {d:g} (logprob -4, ref_logprob {d - 4:g}),", (logprob, logprob + d)


def value_is_not_k3(bounded_kl) -> str | None:
    """What `bounded_kl` gives at the first of a few named log-ratios where it is not k3."""
    for d in NAMED:
        given, args = _at_named(d)
        if seen := number_differs(bounded_kl(*args), k3(*args).item(), rtol=1e-3, given=given):
            return seen
    return None


def gradient_is_not_k3s(bounded_kl) -> str | None:
    """The gradient at the first of a few named log-ratios where it is not that of k3."""
    for d in NAMED:
        given, args = _at_named(d)
        _, problem = gradient_of(bounded_kl, args)
        if problem:
            return f"for {given} {problem}"
        leaf = args[0].requires_grad_()
        (got,) = torch.autograd.grad(bounded_kl(leaf, args[1]).sum(), leaf)
        given += " as the gradient that arrives at logprob,"
        if seen := number_differs(got, 1 - math.exp(d), rtol=1e-3, given=given):
            return seen
    return None


def is_k3_nearby(bounded_kl) -> str | None:
    if seen := value_is_not_k3(bounded_kl):
        return seen
    for trial in _all_trials():
        want = _at_near(trial.args, k3(*(arg.double() for arg in trial.args)))
        got = bounded_kl(*trial.args)
        got = _at_near(trial.args, got) if isinstance(got, Tensor) else got
        given, atol = _named(trial), ROUNDING[trial.dtype]
        if seen := tensor_differs(got, want, rtol=1e-3, atol=atol, given=given):
            return seen
    return None


def gradient_is_k3s_nearby(bounded_kl) -> str | None:
    if seen := gradient_is_not_k3s(bounded_kl):
        return seen
    for trial in _all_trials():
        got, problem = gradient_of(bounded_kl, trial.args)
        if problem:
            return f"for {trial.given} {problem}"
        want, _ = gradient_of(k3, tuple(arg.double() for arg in trial.args))
        got, want = _at_near(trial.args, got), _at_near(trial.args, want)
        given, atol = f"{_named(trial)}, the gradient", ROUNDING[trial.dtype]
        if seen := tensor_differs(got, want, rtol=1e-2, atol=atol, given=given):
            return seen
    return None


def _far(dtype: torch.dtype, on_reference: bool) -> tuple[Tensor, Tensor]:
    """Log-probs (N, 1) at DISTANCES from each other, the one or the other at -0.5."""
    d = torch.tensor(DISTANCES).view(-1, 1)
    pair = (torch.full_like(d, -0.5), d - 0.5) if on_reference else (-d - 0.5, d * 0 - 0.5)
    return pair[0].to(dtype), pair[1].to(dtype)


def _cause(bounded_kl, logprob: Tensor, ref_logprob: Tensor) -> str:
    """What `trace_step` says about one position."""

    def loss(leaf: Tensor) -> Tensor:
        return bounded_kl(leaf, ref_logprob).float().sum()

    report = diagnostics.trace_step(loss, logprob.detach().clone().requires_grad_())
    if not report.found:
        return ""
    said = report.headline.partition(" It reached")[0].rstrip(".")
    if report.operation == "exp":
        said += f" (into exp goes {report.largest_input:.6g})"
    return f" ({said[0].lower()}{said[1:]})"


def _first_not_finite(bounded_kl, numbers_of, what: str) -> str | None:
    for dtype in FORMATS:
        for on_reference in (True, False):
            args = _far(dtype, on_reference)
            numbers = numbers_of(bounded_kl, args)
            bad = (~numbers.isfinite()).flatten().nonzero()
            if len(bad):
                at = int(bad[0])
                name = str(dtype).removeprefix("torch.")
                cause = _cause(bounded_kl, args[0][at], args[1][at])
                d_N = (args[1] - args[0]).flatten()[bad.flatten()].tolist()
                where, number = f"a log-ratio of {d_N[0]:.6g}", numbers.flatten()[at].item()
                if len(d_N) > 1:
                    where += f" (the first of {len(d_N)}, up to {max(d_N, key=abs):.6g})"
                return f"in {name}, at {where}, the {what} is {number:g}{cause}"
    return None


def _gradient(bounded_kl, args: tuple) -> Tensor:
    gradient, _ = gradient_of(bounded_kl, args)
    return torch.zeros_like(args[0]) if gradient is None else gradient


def value_is_finite(bounded_kl) -> str | None:
    return _first_not_finite(bounded_kl, lambda kl, args: kl(*args).detach(), "value")


def gradient_is_finite(bounded_kl) -> str | None:
    return _first_not_finite(bounded_kl, _gradient, "gradient")


def never_pushes_away(bounded_kl) -> str | None:
    for dtype in FORMATS:
        for on_reference in (True, False):
            gradient = _gradient(bounded_kl, _far(dtype, on_reference)).flatten().tolist()
            for d, number in zip(DISTANCES, gradient, strict=True):
                if d * number > 0:
                    name, way = str(dtype).removeprefix("torch."), "down" if d > 0 else "up"
                    return (
                        f"in {name}, at a log-ratio of {d:g}, the gradient is {number:g}: a step "
                        f"moves logprob {way}, away from ref_logprob"
                    )
    return None


def kl_bounded_before_exp(logprob, ref_logprob):
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


KL = Exercise(
    id="04.3",
    name="KL",
    title="Bound the KL, forward and backward",
    minutes=8,
    difficulty="one line",
    points=4,
    reads="bounded_kl",
    expects=(Callable,),
    form=gives_a_tensor_like_its_inputs,
    hints=(
        "Through which operations does the gradient go on its way from the value to logprob?",
        "A clamp after exp sends a 0 backward; exp multiplies it by its own result, inf.",
        "Bound what goes into exp, in its own format. exp(11) still fits float16; and the gradient "
        "has to fit the format of logprob too.",
    ),
    criteria=(
        Criterion(
            "Up to 2 nats it is k3, exp(d) - d - 1 with d = ref_logprob - logprob.",
            is_k3_nearby,
            why="a bound is for the rare far token, not for the ordinary ones",
            next="put that d into exp(d) - d - 1 by hand: is the sign of d right, and does the "
            "bound leave it alone?",
        ),
        Criterion(
            "Up to 2 nats its gradient is k3's, 1 - exp(d).",
            gradient_is_k3s_nearby,
            why="a value without its gradient is a metric, not a loss",
            next="does the bound leave this d alone, and is any part detached from logprob?",
        ),
        Criterion(
            "The value is finite for every log-ratio, in float32, bfloat16 and float16.",
            value_is_finite,
            why="one inf makes the mean inf",
            next="the operation is in brackets. If it is exp: from which number on is exp inf in "
            "that format? Otherwise: bound what goes into it, so that the result fits the format",
        ),
        Criterion(
            "The gradient is finite for every log-ratio, in all three formats.",
            gradient_is_finite,
            why="one nan or inf among the gradients destroys the weights at the next step",
            next="the operation is in brackets. If it is exp: what sends a gradient back into it, "
            "and is that before or after the bound? If it is a cast (to_copy): the gradient "
            "returns in the format of logprob, and has to fit it",
        ),
        Criterion(
            "The gradient never pushes logprob further away from ref_logprob.",
            never_pushes_away,
            why="a far token that is pushed further away never comes back",
            next="far away the gradient may be 0, but its sign may not change",
        ),
    ),
    answer=kl_bounded_before_exp,
)
