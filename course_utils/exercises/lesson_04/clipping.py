"""Exercise 04.5: clipping by the norm, and what it does to a nan."""

from collections.abc import Callable, Iterator
from itertools import islice

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise

NAN, INF = float("nan"), float("inf")
SHAPES = (((2,), (1,)), ((3, 4), (5,), ()), ((7,),), ((1,), (2, 2, 2), (6,), (4, 1), (3,)))


def clip_by_torch(grads, max_norm):
    """What torch.nn.utils.clip_grad_norm_ leaves of these gradients."""
    parameters = [torch.nn.Parameter(torch.zeros_like(grad)) for grad in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]


def _gradients(norm: float) -> Iterator[list[Tensor]]:
    """Lists of gradients of several shapes and three formats whose common norm is `norm`."""
    for number, shapes in enumerate(SHAPES):
        for dtype in (torch.float32, torch.float64, torch.float16):
            generator = torch.Generator().manual_seed(number)
            grads = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
            length = torch.cat([grad.flatten() for grad in grads]).norm()
            yield [(grad * (norm / length)).to(dtype) for grad in grads]


def _differs(clip, grads: list[Tensor], max_norm: float) -> str | None:
    got, want = clip([grad.clone() for grad in grads], max_norm), clip_by_torch(grads, max_norm)
    norm = torch.cat([grad.double().flatten() for grad in grads]).norm().item()
    name = str(grads[0].dtype).removeprefix("torch.")
    rtol = 1e-2 if name == "float16" else 1e-4
    for number, (mine, right) in enumerate(zip(got, want, strict=True)):
        given = f"{name} gradients of norm {norm:g}, max_norm {max_norm:g}, in gradient {number}"
        mine = mine.to(right.dtype) if isinstance(mine, Tensor) else mine
        if seen := tensor_differs(mine, right, rtol=rtol, atol=1e-7, given=given):
            return seen
    return None


def gives_as_many_gradients(clip) -> str | None:
    several = islice(_gradients(0.5), 3)  # one list in each format
    return next(filter(None, (_form_differs(clip, grads) for grads in several)), None)


def _form_differs(clip, grads: list[Tensor]) -> str | None:
    grads = [grad.clone() for grad in grads]
    got = clip(grads, 1.0)
    if isinstance(got, Tensor) or not isinstance(got, (list, tuple)):
        return f"a list of {len(grads)} gradients is asked for, and it gives a {type(got).__name__}"
    if len(got) != len(grads):
        return f"a list of {len(grads)} gradients is asked for, and it gives {len(got)}"
    for mine, grad in zip(got, grads, strict=True):
        if not isinstance(mine, Tensor) or mine.shape != grad.shape:
            kind = tuple(mine.shape) if isinstance(mine, Tensor) else type(mine).__name__
            return f"for a gradient of shape {tuple(grad.shape)} it gives {kind}"
        if mine.dtype != grad.dtype:
            return f"the format of the gradients is asked for, {grad.dtype}; it gives {mine.dtype}"
        if mine.data_ptr() == grad.data_ptr():
            return (
                "new tensors are asked for, and for a small norm it returns the ones it was given"
            )
    return None


def leaves_small_ones(clip) -> str | None:
    for norm, max_norm in ((0.5, 1.0), (0.0, 1.0), (0.08, 0.1), (3.0, 10.0)):
        for grads in _gradients(norm):
            if seen := _differs(clip, grads, max_norm):
                return seen
    return None


def scales_all_together(clip) -> str | None:
    for norm, max_norm in ((5.0, 1.0), (50.0, 2.0), (0.3, 0.1), (1.5, 1.0), (500.0, 2.0)):
        for grads in _gradients(norm):
            if seen := _differs(clip, grads, max_norm):
                return seen
    return None


def _with_one(clip, bad: float) -> str | None:
    for norm in (0.5, 5.0):
        for grads in _gradients(norm):
            grads[len(grads) // 2].view(-1)[-1] = bad
            if seen := _differs(clip, grads, 1.0):
                return seen
    return None


def spreads_a_nan(clip) -> str | None:
    return _with_one(clip, NAN)


def turns_an_inf(clip) -> str | None:
    if seen := _with_one(clip, INF) or _with_one(clip, -INF):
        return seen
    for grads in _gradients(5.0):
        grads[0].view(-1)[0], grads[-1].view(-1)[-1] = INF, NAN
        if seen := _differs(clip, grads, 1.0):
            return f"with an inf and a nan together, {seen}"
    return None


def _norm(grads):
    return torch.cat([grad.flatten() for grad in grads]).norm()


def clip_by_factor(grads, max_norm):
    factor = (max_norm / (_norm(grads) + 1e-6)).clamp(max=1.0)
    return [grad * factor for grad in grads]


CLIP = Exercise(
    id="04.5",
    name="CLIP",
    title="Clip by the norm, as torch does",
    minutes=6,
    difficulty="two or three lines",
    points=3,
    reads="clip_gradients",
    expects=(Callable,),
    form=gives_as_many_gradients,
    hints=(
        "There is one norm, over all gradients together. What is the norm of a nan?",
        "Every gradient is multiplied by max_norm / norm, but never by more than 1.",
        "Without an if: a tensor's clamp(max=1.0) leaves a nan as it is. Which factor do you "
        "clamp, and what do you multiply by it?",
    ),
    criteria=(
        Criterion(
            "Gradients below max_norm stay as they are.",
            leaves_small_ones,
            why="clipping must not change steps that are small enough",
            next="the factor is 1 wherever the common norm is below max_norm",
        ),
        Criterion(
            "Larger ones shrink together, by one factor, to max_norm.",
            scales_all_together,
            why="one factor for all keeps the direction of the step",
            next="the factor is max_norm / norm, with the one norm of all numbers together; the "
            "square of 300 is inf in float16",
        ),
        Criterion(
            "One nan does to the other gradients what it does in torch.",
            spreads_a_nan,
            why="this is what happened to your policy between backward and step",
            next="multiply every gradient by the factor, nan or not; Python's min(1.0, nan) is 1.0",
        ),
        Criterion(
            "An inf does to them what it does in torch, also next to a nan.",
            turns_an_inf,
            why="an inf and a nan look alike in the log, and damage the weights in different ways",
            next="what is max_norm / inf, and what is inf times that?",
        ),
    ),
    answer=clip_by_factor,
)
