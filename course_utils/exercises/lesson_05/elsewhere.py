"""Tries an answer to exercise 05.4 on a model that the lesson has not shown, and on others.

The other model has more layers, random gains and a large eps, and its batch is padded: an answer
that has copied a number of the shown model, or forgets a part of the norm, computes something else.
Its norms' formats are read with a stream so large that each of its post-norms overflows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.exercises.lesson_05.stand_in import PADDED, another, half_precision, plain
from course_utils.gemma3 import rescale_stream
from course_utils.reproductions.lesson_05.gemma_dpo import STRETCH

CLOSE = 1e-3  # relative; in float32 another order of the operations costs 1e-6
POST = ("post_attention_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True)
class Elsewhere:
    """What was seen, a sentence for each; None when all is well."""

    other_model: str | None
    bystander: str | None


def look_elsewhere(keep_in_float32) -> Elsewhere:
    model, loud, bystander = another(), rescale_stream(another(), STRETCH), plain()
    with class_of_norms_restored():
        for one in (model, loud):
            keep_in_float32(one)
        changed = torch.float32 in _formats(bystander)
        narrow = _norm_not_in_float32(loud)
        step = _step(model)
    said = "the norms of a model that your function was not given return float32 as well"
    return Elsewhere(narrow or _function_differs(*step), said if changed else None)


@contextmanager
def class_of_norms_restored() -> Iterator[None]:
    """A change of the class would outlast the check, and reach the models it compares with."""
    norm = type(post_norms(plain())[0])
    forward = norm.forward
    try:
        yield
    finally:
        norm.forward = forward


def post_norms(model: nn.Module) -> list[nn.Module]:
    return [getattr(layer, name) for layer in model.model.layers for name in POST]


@torch.no_grad()
def _formats(model: nn.Module) -> list[torch.dtype]:
    """What each post-norm puts out under float16 autocast."""
    formats: list[torch.dtype] = []
    hooks = [
        norm.register_forward_hook(lambda _m, _i, out: formats.append(out.dtype))
        for norm in post_norms(model)
    ]
    with half_precision():
        model(**PADDED)
    for hook in hooks:
        hook.remove()
    return formats


def _norm_not_in_float32(model: nn.Module) -> str | None:
    formats = _formats(model)
    wrong = [str(dtype).removeprefix("torch.") for dtype in formats if dtype != torch.float32]
    if not wrong:
        return None
    where = f"in a model of {len(model.model.layers)} layers whose post-norms all overflow"
    return f"{where}, {len(wrong)} of {len(formats)} return {wrong[0]} in eval mode"


def _function_differs(logits: Tensor, gradients: list[Tensor | None]) -> str | None:
    wanted, wanted_gradients = _step(another())
    off = _distance(logits, wanted)
    if not off <= CLOSE:
        return f"in a model with other gains and eps, the float32 logits are off by {off:.2g}"
    if None in gradients:
        return f"{gradients.count(None)} of {len(gradients)} norms' weights get no gradient"
    off = max(map(_distance, gradients, wanted_gradients))
    if not off <= CLOSE:
        return f"the gradient of a norm's weight is off by {off:.2g} of its norm"
    return None


def _step(model: nn.Module) -> tuple[Tensor, list[Tensor | None]]:
    """Logits, and the gradients of the post-norms' weights, in float32."""
    logits = model(**PADDED).logits
    logits.logsumexp(-1).mean().backward()
    weights = [next(norm.parameters(), None) for norm in post_norms(model)]
    return logits.detach(), [None if weight is None else weight.grad for weight in weights]


def _distance(got: Tensor, wanted: Tensor) -> float:
    return ((got - wanted).norm() / wanted.norm()).item()
