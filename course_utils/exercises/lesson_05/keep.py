"""Exercise 05.4: the few modules that need float32, under float16 autocast."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_05.elsewhere import (
    Elsewhere,
    class_of_norms_restored,
    look_elsewhere,
    post_norms,
)
from course_utils.exercises.lesson_05.products import Products
from course_utils.exercises.lesson_05.stand_in import BATCH, half_precision, plain, sick

CLOSE = 0.05  # of a logit, rms: float16 autocast on a healthy model gives 0.01, clamping 0.6
SCALE = 2.0**10  # of the loss, so that no gradient is lost in float16
GRADIENT_CLOSE = 0.1  # of its norm: float16 autocast on a healthy model gives 0.02


@dataclass(frozen=True)
class Kept:
    """What the sick model did in float16 autocast, after the student's function."""

    logits: Tensor
    gradient: Tensor  # of the embedding
    num_products: int  # matrix products of the forward pass in float16
    norms: frozenset[torch.dtype]  # of what the post-norms put out
    unlike: str | None  # what of the weights and modes is not as it was
    others: dict[str, torch.dtype]  # of what each other norm put out, by name
    first_overflow: str  # the module that put out inf or nan before any other; "" if none did
    elsewhere: Elsewhere  # another model, and one that was not given


@class_of_norms_restored()
def run_in_half(keep_in_float32) -> Kept:
    """The model is handed over in eval mode and then run in train mode, as a Trainer does."""
    elsewhere = look_elsewhere(keep_in_float32)
    model, overflows, norms = sick(), [], set()
    weights, modules = dict(model.named_parameters()), list(model.modules())
    modules[-1].train()  # one part alone, so that a mode that is set for all shows
    modes = [module.training for module in modules]
    keep_in_float32(model)
    unlike = _unlike(model, weights, [module.training for module in modules] != modes)
    model.train()
    others = _formats_of_other_norms(model)
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda _m, _i, out, name=name: overflows.append(name) if _overflows(out) else None
        )
    for norm in post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: norms.add(out.dtype))
    logits, gradient, products = _step(model)
    first = next(iter(overflows), "")
    return Kept(logits, gradient, products, frozenset(norms), unlike, others, first, elsewhere)


def _unlike(model: nn.Module, weights: dict[str, nn.Parameter], mode_changed: bool) -> str | None:
    now = {id(weight) for weight in model.parameters()}
    for name, weight in weights.items():
        if id(weight) not in now:
            return f"{name} is another tensor after the call; an optimizer still holds the old one"
        if not weight.requires_grad:
            return f"{name} is frozen after the call"
    return "a module is in another mode, training or eval, after the call" if mode_changed else None


def _formats_of_other_norms(model: nn.Module) -> dict[str, torch.dtype]:
    """The format that each norm but the post-norms puts out; filled when the model runs."""
    formats: dict[str, torch.dtype] = {}
    for name, module in model.named_modules():
        if name.endswith("norm") and module not in post_norms(model):
            module.register_forward_hook(
                lambda _m, _i, out, name=name: formats.update({name: out.dtype})
            )
    return formats


def _step(model: nn.Module, *, half: bool = True) -> tuple[Tensor, Tensor, int]:
    """Logits, gradient of the embedding, and the number of float16 products in the forward pass."""
    with half_precision(enabled=half), Products() as products:
        logits = model(**BATCH).logits.float()
    (logits.logsumexp(-1).mean() * SCALE).backward()
    gradient = model.get_input_embeddings().weight.grad / SCALE
    return logits.detach(), gradient, products.count[torch.float16]


def _overflows(output: object) -> bool:
    return isinstance(output, Tensor) and not output.isfinite().all()


@cache
def _in_float32() -> tuple[Tensor, Tensor, int]:
    return _step(sick(), half=False)


@cache
def _num_products() -> int:
    """Those of the plain model under float16 autocast."""
    return _step(plain())[2]


def all_finite(kept: Kept) -> str | None:
    for name, tensor in (("logits", kept.logits), ("gradients", kept.gradient)):
        bad = int((~tensor.isfinite()).sum())
        if bad:
            first = kept.first_overflow
            where = f"; the first module to put out inf or nan is {first}" if first else ""
            return f"in train mode {bad} of {tensor.numel()} {name} are not finite{where}"
    return None


def same_function(kept: Kept) -> str | None:
    logits, gradient, _ = _in_float32()
    if not (kept.logits.isfinite().all() and kept.gradient.isfinite().all()):
        return "not all are finite, so they cannot be compared"
    error = (kept.logits - logits).square().mean().sqrt().item()
    if not error <= CLOSE:
        return f"the logits are {error:.2g} (rms) away from those in float32"
    off = ((kept.gradient - gradient).norm() / gradient.norm()).item()
    if not off <= GRADIENT_CLOSE:
        return f"the gradient of the embedding is off by {off:.0%} of its norm in float32"
    return None


def norms_return_float32(kept: Kept) -> str | None:
    wrong = {str(dtype).removeprefix("torch.") for dtype in kept.norms - {torch.float32}}
    return f"norms that overflowed return {', '.join(sorted(wrong))}" if wrong else None


def products_in_half(kept: Kept) -> str | None:
    if kept.num_products >= _num_products():
        return None
    asked = f"{_num_products()} before your change"
    return f"{kept.num_products} matrix products of the forward pass are in float16, {asked}"


@cache
def _formats_before() -> dict[str, torch.dtype]:
    model = plain()
    formats = _formats_of_other_norms(model)
    _step(model)
    return formats


def other_norms_stay(kept: Kept) -> str | None:
    before = _formats_before()
    changed = [name for name in before if kept.others.get(name) != before[name]]
    if not changed:
        return None
    first = changed[0]
    formats = (str(one.get(first)).removeprefix("torch.") for one in (kept.others, before))
    seen = "{} returns {}, where it returned {} before".format(first, *formats)
    return f"{len(changed)} norms that do not overflow return another format: {seen}"


def serves_other_models(kept: Kept) -> str | None:
    return kept.elsewhere.other_model


def weights_and_modes_stay(kept: Kept) -> str | None:
    return kept.unlike


def leaves_others_alone(kept: Kept) -> str | None:
    return kept.elsewhere.bystander


def keep_by_hook(model):
    for name, module in model.named_modules():
        if name.endswith(("post_attention_layernorm", "post_feedforward_layernorm")):
            module.register_forward_pre_hook(lambda _module, inputs: (inputs[0].float(),))


KEEP = Exercise(
    id="05.4",
    name="KEEP",
    title="Fix it without bfloat16",
    minutes=7,
    difficulty="three lines",
    points=4,
    reads="keep_in_float32",
    expects=(Callable,),
    hints=(
        "Which modules overflow? And what decides the format of what they return?",
        "The norm computes in float32 and ends with type_as(x). What must x be, then?",
        "A forward pre-hook may give a module other inputs than it was called with: it is a "
        "function of (module, inputs) that returns a tuple. Which two modules of a layer need one?",
    ),
    criteria=(
        Criterion(
            "Logits and gradients are finite under float16 autocast.",
            all_finite,
            why="one inf in the stream makes a nan of every later layer",
            next="change the model that you are given, for train and eval mode alike; look at the "
            "first place that still overflows: after the cast it is too late",
        ),
        Criterion(
            "Logits and gradients are those of float32, to float16's precision.",
            same_function,
            why="a number that is cut off at 65504 is lost, and so is a gradient without its path",
            next="keep the large numbers, in a format that can hold them, and detach nothing",
        ),
        Criterion(
            "The norms that overflowed return float32.",
            norms_return_float32,
            why="this exercise asks for that; a later one makes the numbers smaller instead",
            next="what must go into the norm so that its last line returns float32?",
        ),
        Criterion(
            "Matrix products are still computed in float16, all of them.",
            products_in_half,
            why="they are nearly all of the work; that is what mixed precision is for",
            next="touch only the modules that overflow",
        ),
        Criterion(
            "A Gemma of other depth, gains and eps computes what it did: logits and gradients.",
            serves_other_models,
            why="w and eps differ from norm to norm, and w is trained with the rest",
            next="go through all layers, and let each norm compute with its own 1 + w and eps",
        ),
        Criterion(
            "The model's weights stay the same tensors, trained as before, and each mode stays.",
            weights_and_modes_stay,
            why="an optimizer holds the tensors that it was given; another mode changes the run",
            next="change what goes into a module, and leave its weights and mode as they are",
        ),
        Criterion(
            "A model that the function was not given stays as it was.",
            leaves_others_alone,
            why="what is changed in a class is changed for every model in the process",
            next="register hooks on the modules of this model, or replace them there",
        ),
        Criterion(
            "The norms that do not overflow return the format that they returned before.",
            other_norms_stay,
            why="each value in float32 takes twice the memory, and float16 can hold these",
            next="section 6 names the norms that overflow: change those, and leave the others",
        ),
    ),
    answer=keep_by_hook,
    may_change=(0,),
    run=run_in_half,
    time_limit_s=60.0,
)
