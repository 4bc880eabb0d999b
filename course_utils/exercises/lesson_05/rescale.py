"""Exercise 05.5: the same function with a residual stream of another size."""

from collections.abc import Callable

import torch
from torch import nn

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_05.keep import _post_norms
from course_utils.exercises.lesson_05.stand_in import (
    BATCH,
    LARGEST_LOGIT,
    furthest,
    logits_of,
    plain,
)

UPWARD = (2.0**6, 20000.0)
# A gain of 2**-8 is stored as gain - 1, which costs 8 of float32's 24 bits: 2**-16 of a logit.
SMALL, SMALL_TOLERANCE = 2.0**-8, 2.0**-16 * LARGEST_LOGIT * 4


def _rescaled(rescale, k: float) -> nn.Module:
    model = plain()
    rescale(model, k)
    return model


def _moved(rescale, k: float, tolerance: float) -> str | None:
    off = furthest(logits_of(_rescaled(rescale, k)), logits_of(plain()))
    return None if off <= tolerance else f"with k = {k:g} a logit moves by {off:.2g}"


def logits_stay(rescale) -> str | None:
    for k in UPWARD:
        seen = _moved(rescale, k, 1e-5 * LARGEST_LOGIT)
        if seen:
            return seen
    return None


@torch.no_grad()
def _streams(model) -> list[torch.Tensor]:
    # The last of Transformers' hidden states is normalised already; the others are the stream.
    return list(model(**BATCH, output_hidden_states=True).hidden_states[:-1])


def stream_is_k_times(rescale) -> str | None:
    for k in (*UPWARD, 0.5):
        pairs = zip(_streams(_rescaled(rescale, k)), _streams(plain()), strict=True)
        for layer, (after, before) in enumerate(pairs):
            ratio = (after.norm() / before.norm()).item()
            if not abs(ratio / k - 1) < 1e-3:
                return f"with k = {k:g} the stream into layer {layer} is {ratio:.4g} times as large"
    return None


def logits_stay_when_small(rescale) -> str | None:
    return _moved(rescale, SMALL, SMALL_TOLERANCE)


@torch.no_grad()
def rescale_by_name(model, k):
    for name, module in model.named_modules():
        if name.endswith("embed_tokens"):
            module.embed_scale.mul_(k)
        elif name.endswith(("post_attention_layernorm", "post_feedforward_layernorm")):
            module.weight.copy_((1 + module.weight) * k - 1)
        elif name.endswith(("input_layernorm", "pre_feedforward_layernorm", "model.norm")):
            module.eps *= k * k


def rescale_by_layer(model, k):
    decoder = model.model
    decoder.embed_tokens.embed_scale = decoder.embed_tokens.embed_scale * k
    for layer in decoder.layers:
        for norm in (layer.post_attention_layernorm, layer.post_feedforward_layernorm):
            norm.weight.data += (k - 1) * (1 + norm.weight.data)
        layer.input_layernorm.eps *= k**2
        layer.pre_feedforward_layernorm.eps *= k**2
    decoder.norm.eps *= k**2


def rescale_nothing(model, k):
    return model


@torch.no_grad()
def rescale_without_the_one(model, k):
    rescale_without_eps(model, k)
    for norm in _post_norms(model):
        norm.weight.sub_(k - 1)  # (1 + w) k - 1 becomes w k


@torch.no_grad()
def rescale_without_embedding(model, k):
    rescale_without_eps(model, k)
    model.model.embed_tokens.embed_scale.div_(k)


@torch.no_grad()
def rescale_embedding_weight(model, k):
    rescale_without_embedding(model, k)
    model.model.embed_tokens.weight.mul_(k)  # tied to lm_head


@torch.no_grad()
def rescale_every_norm(model, k):
    rescale_without_eps(model, k)
    for layer in model.model.layers:
        for norm in (layer.input_layernorm, layer.pre_feedforward_layernorm):
            norm.weight.copy_((1 + norm.weight) * k - 1)


@torch.no_grad()
def rescale_mlp_only(model, k):
    rescale_without_eps(model, k)
    for norm in _post_norms(model)[::2]:
        norm.weight.copy_((1 + norm.weight) / k - 1)


@torch.no_grad()
def rescale_without_eps(model, k):
    model.model.embed_tokens.embed_scale.mul_(k)
    for norm in _post_norms(model):
        norm.weight.copy_((1 + norm.weight) * k - 1)


def rescale_eps_by_k(model, k):
    rescale_without_eps(model, k)
    for layer in model.model.layers:
        layer.input_layernorm.eps *= k
        layer.pre_feedforward_layernorm.eps *= k
    model.model.norm.eps *= k


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
        "is 1 + weight. The norms that read the stream divide its size out, all but for eps.",
        "embed_scale *= k; post-norm weight = (1 + weight) * k - 1; eps *= k**2 in "
        "input_layernorm, pre_feedforward_layernorm and the last norm. Under torch.no_grad().",
    ),
    criteria=(
        Criterion(
            "For k = 64 and k = 20000 the float32 logits stay, to 1e-5 of the largest.",
            logits_stay,
            why="everything added to the stream must grow alike, or the branches change weight",
            next="the gain is 1 + weight; and the stream begins at the embedding's scale",
        ),
        Criterion(
            "The stream is k times as large, from the first layer to the last.",
            stream_is_k_times,
            why="only a stream of another size helps a format with little range",
            next="change the model that you are given, in place",
        ),
        Criterion(
            "For k = 1/256 the logits stay as well.",
            logits_stay_when_small,
            why="a norm divides by sqrt(mean(x**2) + eps): when x shrinks, eps does not",
            next="what must eps become when x**2 becomes k**2 x**2?",
        ),
    ),
    right=(rescale_by_name, rescale_by_layer),
    wrong=(
        Wrong(rescale_without_the_one, caught_by=logits_stay),
        Wrong(rescale_without_embedding, caught_by=logits_stay),
        Wrong(rescale_embedding_weight, caught_by=logits_stay),
        Wrong(rescale_every_norm, caught_by=logits_stay),
        Wrong(rescale_mlp_only, caught_by=logits_stay),
        Wrong(rescale_nothing, caught_by=stream_is_k_times),
        Wrong(rescale_without_eps, caught_by=logits_stay_when_small),
        Wrong(rescale_eps_by_k, caught_by=logits_stay_when_small),
    ),
    time_limit_s=60.0,
)
