"""Right and wrong answers of exercise 05.4."""

import copy

import torch
from torch import nn
from torch.nn.functional import rms_norm

from course_utils.exercises.lesson_05 import keep
from course_utils.exercises.lesson_05.keep import keep_by_hook
from course_utils.gemma3 import rescale_stream
from tests.answers import answers_of

right, wrong = answers_of(keep.KEEP)

POST = ("post_attention_layernorm", "post_feedforward_layernorm")


def _post_norms(model) -> list[nn.Module]:
    return [module for name, module in model.named_modules() if name.endswith(POST)]


@right
def keep_by_new_forward(model):
    for norm in _post_norms(model):
        norm.forward = lambda x, forward=norm.forward: forward(x.float())


@wrong(caught_by=keep.all_finite)
def keep_nothing(model):
    return model


@wrong(caught_by=keep.all_finite)
def keep_after_the_cast(model):
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out.float())


@wrong(caught_by=keep.all_finite)
def keep_weights_only(model):
    for norm in _post_norms(model):
        norm.float()


@wrong(caught_by=keep.all_finite)
def keep_attention_only(model):
    for norm in _post_norms(model)[::2]:
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


@wrong(caught_by=keep.same_function)
def keep_by_clamping(model):
    for norm in _post_norms(model):

        def forward(x, norm=norm):
            out = norm._norm(x.float()) * (1 + norm.weight.float())
            return out.clamp(-65504, 65504).type_as(x)

        norm.forward = forward


@wrong(caught_by=keep.same_function)
def keep_by_replacing_inf(model):
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out.nan_to_num())


@wrong(caught_by=keep.products_in_half)
def keep_everything(model):
    forward = model.forward

    def in_float32(*args, **kwargs):
        with torch.autocast("cpu", enabled=False):
            return forward(*args, **kwargs)

    model.forward = in_float32


@right
def keep_by_wide_products(model):
    """Casts what goes into the post-norms where it is made."""
    for layer in model.model.layers:
        for product in (layer.self_attn.o_proj, layer.mlp.down_proj):
            product.register_forward_hook(lambda _m, _i, out: out.float())


@right
def keep_under_autocast_only(model):
    def widen(_module, inputs):
        return (inputs[0].float(),) if torch.is_autocast_enabled("cpu") else None

    for norm in _post_norms(model):
        norm.register_forward_pre_hook(widen)


@wrong(caught_by=keep.all_finite)
def keep_a_copy(model):
    keep_by_hook(copy.deepcopy(model))


@wrong(caught_by=keep.norms_return_float32)
def keep_by_a_smaller_stream(model):
    rescale_stream(model, 2.0**-9)


@wrong(caught_by=keep.same_function)
def keep_without_gradient(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].detach().float(),))


@wrong(caught_by=keep.products_in_half)
def keep_the_mlp_too(model):
    keep_by_hook(model)
    for layer in model.model.layers:
        forward = layer.mlp.forward

        def in_float32(x, forward=forward):
            with torch.autocast("cpu", enabled=False):
                return forward(x.float())

        layer.mlp.forward = in_float32


@wrong(caught_by=keep.all_finite)
def keep_the_first_layers(model):
    for norm in _post_norms(model)[:4]:
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


@wrong(caught_by=keep.norms_return_float32)
def keep_in_bfloat16(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].bfloat16(),))


class Widened(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.float())


@right
def keep_by_wrapping(model):
    for layer in model.model.layers:
        for name in POST:
            setattr(layer, name, Widened(getattr(layer, name)))


@right
def keep_by_rms_norm(model):
    for norm in _post_norms(model):
        norm.forward = lambda x, norm=norm: rms_norm(
            x.float(), x.shape[-1:], 1 + norm.weight.float(), norm.eps
        )


@wrong(caught_by=keep.all_finite)
def keep_hiding_inf(model):
    for norm in _post_norms(model):
        norm.register_forward_hook(lambda _m, _i, out: out.float().nan_to_num())


def _keep_with(model, compute):
    """Replace each post-norm's forward by `compute(norm, x)`, x in float32."""
    for norm in _post_norms(model):
        norm.forward = lambda x, norm=norm: compute(norm, x.float())


@wrong(caught_by=keep.serves_other_models)
def keep_without_the_one(model):
    _keep_with(model, lambda norm, x: norm._norm(x) * norm.weight)


@wrong(caught_by=keep.serves_other_models)
def keep_a_detached_weight(model):
    _keep_with(model, lambda norm, x: norm._norm(x) * (1 + norm.weight.detach()))


@wrong(caught_by=keep.serves_other_models)
def keep_a_copied_gain(model):
    gains = {norm: 1 + norm.weight.detach().clone() for norm in _post_norms(model)}
    _keep_with(model, lambda norm, x: norm._norm(x) * gains[norm])


@wrong(caught_by=keep.serves_other_models)
def keep_without_eps(model):
    _keep_with(model, lambda norm, x: rms_norm(x, x.shape[-1:], 1 + norm.weight, 1e-30))


@wrong(caught_by=keep.serves_other_models)
def keep_an_eps_of_its_own(model):
    _keep_with(model, lambda norm, x: rms_norm(x, x.shape[-1:], 1 + norm.weight, 1e-6))


@wrong(caught_by=keep.serves_other_models)
def keep_four_layers(model):
    for norm in _post_norms(model)[:8]:
        norm.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


@wrong(caught_by=keep.other_norms_stay)
def keep_all_norms(model):
    for name, module in model.named_modules():
        if "norm" in name:
            module.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


@wrong(caught_by=keep.other_norms_stay)
def keep_the_norms_of_attention_too(model):
    keep_by_hook(model)
    for layer in model.model.layers:
        layer.self_attn.q_norm.register_forward_hook(lambda _m, _i, out: out.float())


@wrong(caught_by=keep.leaves_others_alone)
def keep_by_the_class(model):
    kind = type(_post_norms(model)[0])
    forward = kind.forward
    kind.forward = lambda self, x: forward(self, x.float())


@wrong(caught_by=keep.all_finite)
def keep_in_eval_mode_only(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda m, a: None if m.training else (a[0].float(),))


@wrong(caught_by=keep.serves_other_models)
def keep_in_train_mode_only(model):
    for norm in _post_norms(model):
        norm.register_forward_pre_hook(lambda m, a: (a[0].float(),) if m.training else None)


@right
def keep_what_can_overflow(model):
    """By the gain: no output of a norm is larger than its largest gain times sqrt(D)."""
    for _, module in model.named_modules():
        if hasattr(module, "eps") and hasattr(module, "weight"):
            gain = (1 + module.weight).abs().max().item()
            if gain * len(module.weight) ** 0.5 > torch.finfo(torch.float16).max:
                module.register_forward_pre_hook(lambda _m, inputs: (inputs[0].float(),))


@wrong(caught_by=keep.weights_and_modes_stay)
def keep_with_new_weights(model):
    keep_by_hook(model)
    for norm in _post_norms(model):
        norm.weight = nn.Parameter(norm.weight.detach().clone())


@wrong(caught_by=keep.weights_and_modes_stay)
def keep_and_freeze(model):
    keep_by_hook(model)
    for layer in model.model.layers:
        layer.mlp.requires_grad_(False)


@wrong(caught_by=keep.weights_and_modes_stay)
def keep_and_eval(model):
    keep_by_hook(model)
    model.eval()


@wrong(caught_by=keep.all_finite)
def keep_another_model(model):
    other = copy.deepcopy(model)
    keep_by_hook(other)
    return other
