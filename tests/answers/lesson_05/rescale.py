"""Right and wrong answers of exercise 05.5."""

import torch

from course_utils.exercises.lesson_05 import rescale
from tests.answers import answers_of
from tests.answers.lesson_05.keep import _post_norms

right, wrong = answers_of(rescale.RESCALE)


@right
def rescale_by_layer(model, k):
    decoder = model.model
    decoder.embed_tokens.embed_scale = decoder.embed_tokens.embed_scale * k
    for layer in decoder.layers:
        for norm in (layer.post_attention_layernorm, layer.post_feedforward_layernorm):
            norm.weight.data += (k - 1) * (1 + norm.weight.data)
        layer.input_layernorm.eps *= k**2
        layer.pre_feedforward_layernorm.eps *= k**2
    decoder.norm.eps *= k**2


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_nothing(model, k):
    return model


@wrong(caught_by=rescale.logits_stay)
@torch.no_grad()
def rescale_without_the_one(model, k):
    rescale_without_eps(model, k)
    for norm in _post_norms(model):
        norm.weight.sub_(k - 1)  # (1 + w) k - 1 becomes w k


@wrong(caught_by=rescale.logits_stay)
@torch.no_grad()
def rescale_without_embedding(model, k):
    rescale_without_eps(model, k)
    model.model.embed_tokens.embed_scale.div_(k)


@wrong(caught_by=rescale.logits_stay)
@torch.no_grad()
def rescale_embedding_weight(model, k):
    rescale_without_embedding(model, k)
    model.model.embed_tokens.weight.mul_(k)  # tied to lm_head


@wrong(caught_by=rescale.logits_stay)
@torch.no_grad()
def rescale_every_norm(model, k):
    rescale_without_eps(model, k)
    for layer in model.model.layers:
        for norm in (layer.input_layernorm, layer.pre_feedforward_layernorm):
            norm.weight.copy_((1 + norm.weight) * k - 1)


@wrong(caught_by=rescale.logits_stay)
@torch.no_grad()
def rescale_mlp_only(model, k):
    rescale_without_eps(model, k)
    for norm in _post_norms(model)[::2]:
        norm.weight.copy_((1 + norm.weight) / k - 1)


@wrong(caught_by=rescale.logits_stay_when_small)
@torch.no_grad()
def rescale_without_eps(model, k):
    model.model.embed_tokens.embed_scale.mul_(k)
    for norm in _post_norms(model):
        norm.weight.copy_((1 + norm.weight) * k - 1)


@wrong(caught_by=rescale.logits_stay_when_small)
def rescale_eps_by_k(model, k):
    rescale_without_eps(model, k)
    for layer in model.model.layers:
        layer.input_layernorm.eps *= k
        layer.pre_feedforward_layernorm.eps *= k
    model.model.norm.eps *= k


@right
def rescale_by_parts(model, k):
    """Through a new Parameter and a new buffer, with k taken apart into two steps."""
    for step in (k**0.5, k**0.5):
        decoder = model.model
        decoder.embed_tokens.embed_scale = decoder.embed_tokens.embed_scale * step
        for layer in decoder.layers:
            for name in ("post_attention_layernorm", "post_feedforward_layernorm"):
                norm = getattr(layer, name)
                norm.weight = torch.nn.Parameter((1 + norm.weight.detach()) * step - 1)
            for norm in (layer.input_layernorm, layer.pre_feedforward_layernorm):
                norm.eps = norm.eps * step**2
        decoder.norm.eps = decoder.norm.eps * step**2


def _scale_eps(model, k):
    for layer in model.model.layers:
        layer.input_layernorm.eps *= k**2
        layer.pre_feedforward_layernorm.eps *= k**2
    model.model.norm.eps *= k**2


@wrong(caught_by=rescale.survives_float16)
def rescale_by_hooks(model, k):
    """Exact in float32, and too late in float16: the norm has cast by then."""
    model.model.embed_tokens.register_forward_hook(lambda _m, _i, out: out * k)
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out * k)
    _scale_eps(model, k)


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_and_keep_looking(model, k):
    rescale_by_layer(model, k)
    model.model.norm.register_forward_hook(lambda _m, inputs, _out: None)


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_to_k(model, k):
    """Sets the scales that belong to the plain model, whatever the model had."""
    tokens = model.model.embed_tokens
    tokens.embed_scale = torch.tensor(model.config.hidden_size**0.5 * k)
    for norm in _post_norms(model):
        norm.weight.data = (1 + norm.weight.data) * k - 1
    for layer in model.model.layers:
        layer.input_layernorm.eps = layer.pre_feedforward_layernorm.eps = 1e-6 * k**2
    model.model.norm.eps = 1e-6 * k**2


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_whole_numbers(model, k):
    """k = 64 is right; smaller ones become 0."""
    if k >= 1:
        rescale_by_layer(model, k)


@wrong(caught_by=rescale.logits_stay_when_small)
@torch.no_grad()
def rescale_without_last_norm(model, k):
    rescale_by_layer(model, k)
    model.model.norm.eps /= k**2


@wrong(caught_by=rescale.trains_with_adapters)
def rescale_with_gradients_off(model, k):
    torch.set_grad_enabled(False)
    rescale_by_layer(model, k)


@wrong(caught_by=rescale.survives_float16)
@torch.no_grad()
def rescale_untied(model, k):
    """Exact, with an output matrix of its own; the scale of the embedding stays beyond float16."""
    rescale_by_layer(model, k)
    tokens = model.model.embed_tokens
    model.lm_head.weight = torch.nn.Parameter(tokens.weight.clone())
    tokens.embed_scale = tokens.embed_scale / k
    tokens.weight.mul_(k)


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_by_rounded_k(model, k):
    rescale_by_layer(model, torch.tensor(k).half().item())


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_by_whole_numbers(model, k):
    """Fits every k that is a whole number, or 1 divided by one."""
    rescale_by_layer(model, round(k) if k > 1 else 1 / round(1 / k))


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_by_clipped_k(model, k):
    rescale_by_layer(model, min(max(k, 2.0**-15), 2.0**15))


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_once(model, k):
    if not getattr(model, "is_rescaled", False):
        rescale_by_layer(model, k)
        model.is_rescaled = True


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_four_layers(model, k):
    layers = model.model.layers
    model.model.layers = layers[:4]
    rescale_by_layer(model, k)
    model.model.layers = layers


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_and_freeze(model, k):
    rescale_by_layer(model, k)
    model.requires_grad_(False)


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_frozen_copies(model, k):
    rescale_by_layer(model, k)
    for norm in _post_norms(model):
        norm.weight = torch.nn.Parameter(norm.weight.detach().clone(), requires_grad=False)


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_as_buffers(model, k):
    rescale_by_layer(model, k)
    for norm in _post_norms(model):
        weight = norm.weight.detach().clone()
        del norm.weight
        norm.register_buffer("weight", weight)


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_and_eval(model, k):
    rescale_by_layer(model, k)
    model.eval()


@wrong(caught_by=rescale.changes_nothing_else)
def rescale_without_the_buffer(model, k):
    """The scale is a plain tensor afterwards, which stays on the CPU when the model moves."""
    rescale_by_layer(model, k)
    tokens = model.model.embed_tokens
    scale = tokens.embed_scale
    del tokens.embed_scale
    tokens.embed_scale = scale


@wrong(caught_by=rescale.stream_is_k_times)
def rescale_with_an_eps_of_its_own(model, k):
    rescale_by_layer(model, k)
    for layer in model.model.layers:
        layer.input_layernorm.eps = layer.pre_feedforward_layernorm.eps = 1e-6 * k**2
    model.model.norm.eps = 1e-6 * k**2
