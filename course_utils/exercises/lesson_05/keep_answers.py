"""Right and wrong answers to exercise 05.4, as readers write them. Judges nothing."""

import copy

import torch
from torch import nn

from course_utils.gemma3 import rescale_stream

POST = ("post_attention_layernorm", "post_feedforward_layernorm")


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


def keep_by_wide_products(model):
    """Casts what goes into the post-norms where it is made."""
    for layer in model.model.layers:
        for product in (layer.self_attn.o_proj, layer.mlp.down_proj):
            product.register_forward_hook(lambda _m, _i, out: out.float())


def keep_under_autocast_only(model):
    def widen(_module, inputs):
        return (inputs[0].float(),) if torch.is_autocast_enabled("cpu") else None

    for norm in _post_norms(model):
        norm.register_forward_pre_hook(widen)


def keep_a_copy(model):
    keep_by_hook(copy.deepcopy(model))


def keep_by_a_smaller_stream(model):
    rescale_stream(model, 2.0**-9)


def keep_without_gradient(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].detach().float(),))


def keep_the_mlp_too(model):
    keep_by_hook(model)
    for layer in model.model.layers:
        forward = layer.mlp.forward

        def in_float32(x, forward=forward):
            with torch.autocast("cpu", enabled=False):
                return forward(x.float())

        layer.mlp.forward = in_float32


def keep_the_first_layers(model):
    for norm in _post_norms(model)[:4]:
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


def keep_in_bfloat16(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].bfloat16(),))
