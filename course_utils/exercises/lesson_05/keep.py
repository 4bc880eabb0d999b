"""Exercise 05.4: the few modules that need float32, under float16 autocast."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_05.stand_in import BATCH, half_precision, logits_of, plain, sick

POST = ("post_attention_layernorm", "post_feedforward_layernorm")
CLOSE = 0.05  # nats, rms: float16 autocast on a healthy model gives 0.01, clamping 0.6


@dataclass(frozen=True)
class Kept:
    """What the sick model did in float16 autocast, after the student's function."""

    logits: Tensor
    gradient: Tensor  # of the embedding
    formats: frozenset[torch.dtype]  # of what the linear layers put out
    first_overflow: str  # the module that put out inf or nan before any other; "" if none did


def run_in_half(keep_in_float32) -> Kept:
    model, formats, overflows = sick(), set(), []
    keep_in_float32(model)
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda _m, _i, out, name=name: overflows.append(name) if _overflows(out) else None
        )
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda _m, _i, out: formats.add(out.dtype))
    with half_precision():
        logits = model(**BATCH).logits.float()
    logits.logsumexp(-1).mean().backward()
    gradient = model.get_input_embeddings().weight.grad
    return Kept(logits.detach(), gradient, frozenset(formats), next(iter(overflows), ""))


def _overflows(output: object) -> bool:
    return isinstance(output, Tensor) and not output.isfinite().all()


def all_finite(kept) -> str | None:
    for name, tensor in (("logits", kept.logits), ("gradients", kept.gradient)):
        bad = int((~tensor.isfinite()).sum())
        if bad:
            where = f"; the first module to put out inf or nan is {kept.first_overflow or 'none'}"
            return f"{bad} of {tensor.numel()} {name} are not finite{where}"
    return None


def same_function(kept) -> str | None:
    error = (kept.logits - logits_of(plain())).square().mean().sqrt().item()
    if error <= CLOSE:
        return None
    return f"the logits are {error:.2g} nats (rms) away from those in float32"


def products_in_half(kept) -> str | None:
    wrong = {str(dtype).removeprefix("torch.") for dtype in kept.formats - {torch.float16}}
    return f"linear layers put out {', '.join(sorted(wrong))}" if wrong else None


def _post_norms(model) -> list[nn.Module]:
    return [module for name, module in model.named_modules() if name.endswith(POST)]


def keep_by_hook(model):
    for name, module in model.named_modules():
        if name.endswith(("post_attention_layernorm", "post_feedforward_layernorm")):
            module.register_forward_pre_hook(lambda _module, inputs: (inputs[0].float(),))


def keep_by_new_forward(model):
    for norm in _post_norms(model):
        norm.forward = lambda x, forward=norm.forward: forward(x.float())


def keep_nothing(model):
    return model


def keep_after_the_cast(model):
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out.float())


def keep_weights_only(model):
    for norm in _post_norms(model):
        norm.float()


def keep_attention_only(model):
    for norm in _post_norms(model)[::2]:
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


def keep_by_clamping(model):
    for norm in _post_norms(model):

        def forward(x, norm=norm):
            out = norm._norm(x.float()) * (1 + norm.weight.float())
            return out.clamp(-65504, 65504).type_as(x)

        norm.forward = forward


def keep_by_replacing_inf(model):
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out.nan_to_num())


def keep_everything(model):
    forward = model.forward

    def in_float32(*args, **kwargs):
        with torch.autocast("cpu", enabled=False):
            return forward(*args, **kwargs)

    model.forward = in_float32


KEEP = Exercise(
    id="05.4",
    name="KEEP",
    title="float32 for the few modules that need it",
    minutes=7,
    difficulty="three lines",
    points=4,
    reads="keep_in_float32",
    expects=(Callable,),
    hints=(
        "Which modules overflow? And what decides the format of what they return?",
        "The norm computes in float32 and ends with type_as(x). What must x be, then?",
        "On each of the two post-norms of a layer: register_forward_pre_hook with a function that "
        "returns (inputs[0].float(),).",
    ),
    criteria=(
        Criterion(
            "Logits and gradients are finite under float16 autocast.",
            all_finite,
            why="one inf in the stream makes a nan of every later layer",
            next="look at the first place that still overflows; after the cast it is too late",
        ),
        Criterion(
            "The logits are those of float32, to float16's precision.",
            same_function,
            why="what is cut off at 65504 was information",
            next="let the large numbers through, in a format that holds them",
        ),
        Criterion(
            "The linear layers still compute in float16.",
            products_in_half,
            why="they are nearly all of the work; that is what mixed precision is for",
            next="touch only the modules that overflow",
        ),
    ),
    right=(keep_by_hook, keep_by_new_forward),
    wrong=(
        Wrong(keep_nothing, caught_by=all_finite),
        Wrong(keep_after_the_cast, caught_by=all_finite),
        Wrong(keep_weights_only, caught_by=all_finite),
        Wrong(keep_attention_only, caught_by=all_finite),
        Wrong(keep_by_clamping, caught_by=same_function),
        Wrong(keep_by_replacing_inf, caught_by=same_function),
        Wrong(keep_everything, caught_by=products_in_half),
    ),
    run=run_in_half,
    time_limit_s=60.0,
)
