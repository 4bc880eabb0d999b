"""Exercise 05.5: the same function with a residual stream of another size."""

import math
from collections.abc import Callable

import torch
from torch import nn

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_05.stand_in import (
    BATCH,
    LARGEST_LOGIT,
    another,
    furthest,
    logits_in_half,
    logits_of,
    plain,
    sick,
)
from course_utils.reproductions.lesson_05.gemma_dpo import dpo_trainer, train_and_judge

UPWARD = (64, 20000.0)
BACK = 2.0**-13  # on the sick model, a factor that leaves its stream four times the plain one's
# A gain of 2**-8 is stored as gain - 1, which costs 8 of float32's 24 bits: 2**-16 of a logit.
SMALL, SMALL_TOLERANCE = 2.0**-8, 2.0**-16 * LARGEST_LOGIT * 4
# Of a logit, the furthest: float16 costs 0.06 in either mode. In float32, w = gain - 1 of the sick
# model's gains of 32768 costs up to 0.004, by the order of the operations.
CLOSE = {"float32": 0.01, "mixed float16": 0.3, "pure float16": 0.3}


def _rescaled(rescale, k: float, made: Callable[[], nn.Module] = plain) -> nn.Module:
    model = made()
    rescale(model, k)
    return model


def _moved(rescale, k: float, tolerance: float) -> str | None:
    model = _rescaled(rescale, k)
    off = furthest(logits_of(model), logits_of(plain()))
    return None if off <= tolerance else f"with k = {k:g} a logit moves by {off:.2g}{_tied(model)}"


def _tied(model: nn.Module) -> str:
    """The trap of the tied embedding, if this answer fell into it."""
    weight = model.model.embed_tokens.weight
    if model.lm_head.weight is not weight or torch.equal(weight, plain().lm_head.weight):
        return ""
    return "; embed_tokens.weight has changed, and lm_head.weight is the same tensor (tied)"


def logits_stay(rescale) -> str | None:
    for k in UPWARD:
        if seen := _moved(rescale, k, 1e-5 * LARGEST_LOGIT):
            return seen
    return None


@torch.no_grad()
def _streams(model) -> list[torch.Tensor]:
    # The last of Transformers' hidden states is normalised already; the others are the stream.
    return list(model(**BATCH, output_hidden_states=True).hidden_states[:-1])


STREAMS = (
    *((plain, (k,)) for k in (64, 20000.0, 0.5, 0.3, 1e5)),
    (sick, (BACK,)),
    (another, (37.5,)),
    (plain, (64, 2.0**-4)),  # a second call counts like the first
)


def stream_is_k_times(rescale) -> str | None:
    for made, factors in STREAMS:
        model = made()
        for k in factors:
            rescale(model, k)
        pairs = zip(_streams(model), _streams(made()), strict=True)
        said = f"after a call with k = {', and one with k = '.join(f'{k:g}' for k in factors)}"
        for layer, (after, before) in enumerate(pairs):
            ratio = (after.norm() / before.norm()).item()
            if not abs(ratio / math.prod(factors) - 1) < 1e-4:
                return f"{said}, the stream into layer {layer} is {ratio:.6g} times as large"
    return None


def logits_stay_when_small(rescale) -> str | None:
    return _moved(rescale, SMALL, SMALL_TOLERANCE)


def survives_float16(rescale) -> str | None:
    for k in (BACK, 2.0**-9):
        model = _rescaled(rescale, k, sick)
        runs = {"float32": logits_of(model), "mixed float16": logits_in_half(model)}
        runs["pure float16"] = logits_of(model.half())
        for mode, logits in runs.items():
            share, off = (
                logits.isfinite().float().mean().item(),
                furthest(logits, logits_of(plain())),
            )
            if share < 1:
                return f"sick with k = {k:g}: in {mode}, {share:.0%} of the logits are finite"
            if off > CLOSE[mode]:
                return f"sick with k = {k:g}: in {mode}, a logit is {off:.2g} off"
    return None


def changes_nothing_else(rescale) -> str | None:
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
    model = plain().train()
    model.lm_head.eval()
    trained, modes = _trained(model), [module.training for module in model.modules()]
    rescale(model, 0.5)
    left = sum(len(getattr(module, kind)) for module in model.modules() for kind in hooks)
    if left:
        return f"{left} hooks are on the model after the call"
    if "model.embed_tokens.embed_scale" not in dict(model.named_buffers()):
        return "embed_scale is no buffer after the call, so it does not follow the model to a GPU"
    now = _trained(model)
    for name in trained:
        if name not in now:
            return f"{name} is no parameter after the call"
        if trained[name] != now[name]:
            return f"{name}.requires_grad is {now[name]} after the call, it was {trained[name]}"
    if modes != [module.training for module in model.modules()]:
        return "after the call a module is in another mode, training or eval"
    return None


def _trained(model: nn.Module) -> dict[str, bool]:
    return {name: weight.requires_grad for name, weight in model.named_parameters()}


def trains_with_adapters(rescale) -> str | None:
    """As section 14 does: adapters around the rescaled model, float16 mixed precision."""
    try:
        outcome = train_and_judge(
            dpo_trainer(prepare=lambda policy: rescale(policy, BACK), max_steps=2)
        )
    except RuntimeError as error:
        return f"a training step with LoRA ends with: {str(error).splitlines()[0][:120]}"
    if outcome.in_a_word == "trains":
        return None
    steps = f"{outcome.num_dead_steps} of {len(outcome.losses)} steps are not finite"
    return f"{steps}, {outcome.num_moved} of {outcome.num_trained} adapters moved"


@torch.no_grad()
def rescale_by_name(model, k):
    for name, module in model.named_modules():
        if name.endswith("embed_tokens"):
            module.embed_scale.mul_(k)
        elif name.endswith(("post_attention_layernorm", "post_feedforward_layernorm")):
            module.weight.copy_((1 + module.weight) * k - 1)
        elif name.endswith(("input_layernorm", "pre_feedforward_layernorm", "model.norm")):
            module.eps *= k * k


RESCALE = Exercise(
    id="05.5",
    name="RESCALE",
    title="The same function, another size",
    minutes=12,
    difficulty="a small function",
    points=5,
    reads="rescale",
    expects=(Callable,),
    hints=(
        "What is added to the stream, and what reads it? Multiply the first, and see whether the "
        "second notices.",
        "Added are the embedding (times embed_scale) and the output of both post-norms, whose gain "
        "is 1 + weight. The norms that read the stream divide by its size, except for eps.",
        "embed_scale grows by k, and each post-norm's 1 + weight does: solve for the new weight. "
        "Then the norms that read: by what must eps be multiplied, when the mean of x**2 grows by "
        "k**2? Write weights through .data, or under torch.no_grad().",
    ),
    criteria=(
        Criterion(
            "For k = 64 and k = 20000 the float32 logits stay, to 1e-5 of the largest.",
            logits_stay,
            why="all that is added to the stream must grow alike, or a branch counts for more",
            next="the gain is 1 + weight; the stream begins at embed_scale: the embedding's weight "
            "is tied, it is the output matrix as well; eps changes only in norms that read the "
            "stream",
        ),
        Criterion(
            "For k = 1/256 the logits stay as well.",
            logits_stay_when_small,
            why="a norm divides by sqrt(mean(x**2) + eps): when x shrinks, eps does not",
            next="what must eps become when x**2 becomes k**2 x**2?",
        ),
        Criterion(
            "Every call makes the stream k times as large, from the first layer to the last.",
            stream_is_k_times,
            why="only a stream of another size helps a format with little range",
            next="change the model that you are given, in place, all its layers, by k as it is, "
            "and each number from what it was: eps too differs from model to model",
        ),
        Criterion(
            "The sick model, made smaller, keeps its logits in float32 and in both float16 modes.",
            survives_float16,
            why="a later factor cannot make an inf finite again",
            next="what you multiply after the norm's last line has already been float16",
        ),
        Criterion(
            "No hook is left; parameters and buffers stay such, trained or not; modes stay.",
            changes_nothing_else,
            why="a hook is lost when the model is saved, a frozen weight is never trained",
            next="put the factor into the numbers that the model has: buffer, weights, eps",
        ),
        Criterion(
            "With LoRA around it, the rescaled model trains in float16.",
            trains_with_adapters,
            why="section 14 trains it",
            next="keep the weights ordinary parameters",
        ),
    ),
    answer=rescale_by_name,
    may_change=(0,),
    time_limit_s=60.0,
)
