"""Rescales a Gemma 3 exactly: the same function, with a residual stream of another size.

Changes weights and buffers in memory; it never writes a checkpoint.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import nn
from transformers.models.gemma3.modeling_gemma3 import (
    Gemma3MultiModalProjector,
    Gemma3RMSNorm,
    Gemma3TextModel,
    Gemma3TextScaledWordEmbedding,
)

from course_utils.errors import BadRequest

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def text_models(model: nn.Module) -> list[Gemma3TextModel]:
    """The Gemma 3 decoders in `model`: of a text-only, a multimodal or a PEFT model.

    Raises:
        BadRequest: there is none.
    """
    found = [module for module in model.modules() if isinstance(module, Gemma3TextModel)]
    if found:
        return found
    raise BadRequest(
        f"{type(model).__name__} holds no Gemma 3 decoder",
        why="only a network that normalises every branch on its way in and out can be rescaled",
        fix="pass a Gemma 3 model, its path or its hub id",
    )


def post_norms(model: nn.Module) -> list[Gemma3RMSNorm]:
    """The norms whose outputs are added to the residual stream, two in every layer."""
    layers = [layer for text in text_models(model) for layer in text.layers]
    return [n for x in layers for n in (x.post_attention_layernorm, x.post_feedforward_layernorm)]


def pre_norms(model: nn.Module) -> list[Gemma3RMSNorm]:
    """The norms that read the residual stream: two in every layer, and the last one."""
    texts = text_models(model)
    layers = [layer for text in texts for layer in text.layers]
    inside = [n for x in layers for n in (x.input_layernorm, x.pre_feedforward_layernorm)]
    return [*inside, *(text.norm for text in texts)]


@torch.no_grad()
def rescale_stream(model: "PreTrainedModel", factor: float) -> "PreTrainedModel":
    """Multiply the residual stream by `factor`, in place; the model's outputs stay the same.

    Everything that is added to the stream is multiplied: the embedding's scale, the gain (1 + w)
    of each post-norm, the projected image features. Every norm that reads the stream divides
    the factor out again; its eps is multiplied by factor**2, or it would count for more.

    Args:
        model: a Gemma 3, without adapters around its embedding.
        factor: a finite number above 0. For a power of two that leaves the gains above 1, the
            float32 logits are the same bit for bit; any other costs a few roundings of 6e-8.

    Returns:
        The same model. Its post-norm weights are float32 now, whatever they were.

    Raises:
        BadRequest: not a Gemma 3, a factor that is not positive, a wrapped embedding.

    Numerics:
        A post-norm stores w = gain - 1. For gains far below 1 that difference loses digits:
        6e-8 / gain in float32, all of them in bfloat16 below 2e-3. A model whose stream is too
        large has gains far above 1. Loading a saved copy sets embed_scale and eps back and
        leaves the weights: save adapters (they fit the original), not the model.

    Source:
        transformers#37226 (embedding and post-norms); eps is our addition.

    >>> from course_utils import zoo
    >>> model = zoo.load_policy("tiny-gemma3", device="cpu")
    >>> rescale_stream(model, 4).model.embed_tokens.embed_scale / model.config.hidden_size**0.5
    tensor(4.)
    """
    if not (math.isfinite(factor) and factor > 0):
        raise BadRequest(
            f"the factor is {factor!r}",
            why="the stream is multiplied by it and divided by it again",
            fix="use a positive number, best a power of two such as 1/32",
        )
    embeddings = [_bare_embedding(text) for text in text_models(model)]
    for embedding in embeddings:
        embedding.scalar_embed_scale *= factor
        embedding.embed_scale = embedding.embed_scale.float() * factor
    for norm in post_norms(model):
        norm.weight.data = (1 + norm.weight.float()) * factor - 1
    for norm in pre_norms(model):
        norm.eps *= factor**2
    for module in model.modules():
        if isinstance(module, Gemma3MultiModalProjector):
            module.mm_input_projection_weight.mul_(factor)
    return model


def _bare_embedding(text: Gemma3TextModel) -> Gemma3TextScaledWordEmbedding:
    embedding = text.embed_tokens
    if isinstance(embedding, Gemma3TextScaledWordEmbedding):
        return embedding
    raise BadRequest(
        f"the embedding is wrapped in a {type(embedding).__name__}",
        why="its adapter would be added to the stream unscaled",
        fix="rescale first, then add adapters",
    )
