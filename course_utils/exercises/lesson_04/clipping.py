"""Exercise 04.5: clipping by the norm, and what it does to a nan."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong

NAN, INF = float("nan"), float("inf")


def clip_by_torch(grads, max_norm):
    """What torch.nn.utils.clip_grad_norm_ leaves of these gradients."""
    parameters = [torch.nn.Parameter(torch.zeros_like(grad)) for grad in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]


def _compare(clip, grads: list[list[float]], max_norm: float) -> str | None:
    tensors = [torch.tensor(grad) for grad in grads]
    got = clip([tensor.clone() for tensor in tensors], max_norm)
    want = clip_by_torch(tensors, max_norm)
    if not isinstance(got, (list, tuple)) or len(got) != len(want):
        return f"for {len(want)} gradients it gives {got!r}, where a list of as many is asked"
    same = all(
        torch.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
        for a, b in zip(got, want, strict=True)
    )
    if same:
        return None
    left = [[round(x, 3) for x in grad.tolist()] for grad in got]
    right = [[round(x, 3) for x in grad.tolist()] for grad in want]
    return f"for {grads} and max_norm {max_norm:g} it leaves {left}, torch leaves {right}"


def leaves_small_ones(clip) -> str | None:
    return _compare(clip, [[0.3, 0.0], [0.4]], 1.0)


def scales_all_together(clip) -> str | None:
    return _compare(clip, [[3.0, 0.0], [4.0]], 1.0) or _compare(clip, [[30.0], [0.4, 40.0]], 2.0)


def spreads_a_nan(clip) -> str | None:
    return _compare(clip, [[0.3, 0.1], [NAN, 0.2], [0.1]], 1.0)


def turns_an_inf(clip) -> str | None:
    return _compare(clip, [[0.3, 0.1], [INF, 0.2], [0.1]], 1.0)


def _norm(grads):
    return torch.cat([grad.flatten() for grad in grads]).norm()


def clip_by_factor(grads, max_norm):
    factor = (max_norm / (_norm(grads) + 1e-6)).clamp(max=1.0)
    return [grad * factor for grad in grads]


def clip_with_if(grads, max_norm):
    norm = _norm(grads)
    return [grad * (max_norm / norm) for grad in grads] if norm > max_norm else list(grads)


def clip_each_alone(grads, max_norm):
    return [clip_by_factor([grad], max_norm)[0] for grad in grads]


def clip_always(grads, max_norm):
    return [grad * (max_norm / _norm(grads)) for grad in grads]


def clip_elementwise(grads, max_norm):
    return [grad.clamp(-max_norm, max_norm) for grad in grads]


def clip_unless_infinite(grads, max_norm):
    return list(grads) if _norm(grads).isinf() else clip_by_factor(grads, max_norm)


CLIP = Exercise(
    id="04.5",
    name="CLIP",
    title="Clip by the norm, as torch does",
    minutes=6,
    difficulty="two or three lines",
    points=3,
    reads="clip_gradients",
    expects=(Callable,),
    hints=(
        "There is one norm, over all gradients together. What is the norm of a nan?",
        "Every gradient is multiplied by max_norm / norm, but never by more than 1.",
        "No if: factor = (max_norm / (norm + 1e-6)).clamp(max=1.0), and each grad times factor.",
    ),
    criteria=(
        Criterion(
            "Gradients below max_norm stay as they are.",
            leaves_small_ones,
            why="clipping must not turn small steps into large ones",
            next="never multiply by more than 1",
        ),
        Criterion(
            "Larger ones shrink together, by one factor, to max_norm.",
            scales_all_together,
            why="one factor for all keeps the direction of the step",
            next="take one norm over all of them",
        ),
        Criterion(
            "One nan does to the other gradients what it does in torch.",
            spreads_a_nan,
            why="this is what happened to your policy between backward and step",
            next="multiply every gradient by the factor, whatever the factor is",
        ),
        Criterion(
            "One inf does to them what it does in torch.",
            turns_an_inf,
            why="an inf and a nan look alike in the log, and leave different wrecks",
            next="what is max_norm / inf, and what is inf times that?",
        ),
    ),
    right=(clip_by_factor, clip_by_torch),
    wrong=(
        Wrong(clip_with_if, caught_by=spreads_a_nan),
        Wrong(clip_each_alone, caught_by=scales_all_together),
        Wrong(clip_elementwise, caught_by=scales_all_together),
        Wrong(clip_always, caught_by=leaves_small_ones),
        Wrong(clip_unless_infinite, caught_by=turns_an_inf),
    ),
)
