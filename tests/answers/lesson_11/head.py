"""Right and wrong answers of exercise 11.1."""

import copy

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from course_utils.exercises.lesson_11 import head
from course_utils.exercises.lesson_11.head import merge_untied
from tests.answers import answers_of

right, wrong = answers_of(head.HEAD)


def _head(model):
    layer = model.get_output_embeddings()
    return getattr(layer, "base_layer", layer)


@right
def of_a_copy(model):
    return merge_untied(copy.deepcopy(model))


@right
def embedding_put_back(model):
    """Merges both, and gives the embedding its old weights in a tensor of its own."""
    kept = model.get_input_embeddings().weight.detach().clone()
    merged = model.merge_and_unload()
    merged.get_input_embeddings().weight = nn.Parameter(kept)
    merged.config.tie_word_embeddings = False
    return merged


@right
@torch.no_grad()
def by_hand(model):
    """Adds every change itself, to a model without the adapter."""
    layers = {n: m for n, m in model.get_base_model().named_modules() if hasattr(m, "lora_A")}
    changes = {name: layer.get_delta_weight("default") for name, layer in layers.items()}
    plain = model.unload()
    plain.lm_head.weight = nn.Parameter(plain.lm_head.weight.clone())
    for name, change in changes.items():
        plain.get_submodule(name).weight.add_(change)
    plain.config.tie_word_embeddings = False
    return plain


@wrong(caught_by=head.is_a_plain_model)
def the_adapter_as_it_is(model):
    return model


@wrong(caught_by=head.is_a_plain_model)
def merged_in_place(model):
    model.merge_adapter()
    return model


@wrong(caught_by=head.is_a_plain_model)
def its_weights(model):
    return merge_untied(model).state_dict()


@wrong(caught_by=head.says_the_same)
def merged_as_ever(model):
    return model.merge_and_unload()


@wrong(caught_by=head.says_the_same)
def safe_merge(model):
    return model.merge_and_unload(safe_merge=True)


@wrong(caught_by=head.says_the_same)
def untied_afterwards(model):
    """The embedding has the change by then."""
    merged = model.merge_and_unload()
    _head(merged).weight = nn.Parameter(_head(merged).weight.detach().clone())
    merged.config.tie_word_embeddings = False
    return merged


@wrong(caught_by=head.says_the_same)
def only_the_setting(model):
    model.config.tie_word_embeddings = False
    return model.merge_and_unload()


@wrong(caught_by=head.says_the_same)
def unloaded(model):
    return model.unload()


@wrong(caught_by=head.says_the_same)
def without_the_head(model):
    """Merges what is not tied, and leaves the rest out."""
    kept = model.get_input_embeddings().weight.detach().clone()
    merged = model.merge_and_unload()
    with torch.no_grad():
        merged.get_input_embeddings().weight.copy_(kept)
    return merged


@right
def the_setting_left_to_peft(model):
    """Today's PEFT sees that the two are no longer one tensor, and writes it into the config."""
    _head(model).weight = nn.Parameter(_head(model).weight.detach().clone())
    return model.merge_and_unload()


@wrong(caught_by=head.survives_a_save)
def the_change_in_a_hook(model):
    """Right as long as the process lives."""
    change = model.get_output_embeddings().get_delta_weight("default").detach().clone()
    merged = embedding_put_back(model)
    merged.lm_head.weight = merged.get_input_embeddings().weight
    merged.lm_head.register_forward_hook(lambda layer, given, out: out + given[0] @ change.T)
    merged.config.tie_word_embeddings = True
    return merged


@wrong(caught_by=head.survives_a_save)
def the_head_in_a_new_layer(model):
    """A loader looks for `lm_head.weight`."""
    plain = merge_untied(model)
    plain.lm_head = nn.Sequential(plain.lm_head)
    return plain


# --- a second set -------------------------------------------------------------------------------


def _untied(model):
    _head(model).weight = nn.Parameter(_head(model).weight.detach().clone())
    model.config.tie_word_embeddings = False
    return model


@right
def the_embedding_gets_the_copy(model):
    embedding = model.get_input_embeddings()
    embedding.weight = nn.Parameter(embedding.weight.detach().clone())
    model.config.tie_word_embeddings = False
    return model.merge_and_unload(safe_merge=True)


@right
def a_new_layer_under_the_adapter(model):
    layer = model.get_output_embeddings()
    new = nn.Linear(*layer.base_layer.weight.shape[::-1], bias=False)
    new.load_state_dict(layer.base_layer.state_dict())
    layer.base_layer = new
    model.config.tie_word_embeddings = False
    return model.base_model.merge_and_unload()


@right
def merged_first_unloaded_then(model):
    _untied(model).merge_adapter()
    return model.unload()


@right
def a_fresh_model_with_these_weights(model):
    merged = _untied(model).merge_and_unload()
    config = copy.deepcopy(merged.config)
    fresh = AutoModelForCausalLM.from_config(config)
    fresh.load_state_dict({name: one.clone() for name, one in merged.state_dict().items()})
    return fresh.eval()


@wrong(caught_by=head.is_a_plain_model)
def the_model_inside(model):
    return _untied(model).get_base_model()


@wrong(caught_by=head.is_a_plain_model)
def merged_and_not_unloaded(model):
    _untied(model).merge_adapter()
    return model


@wrong(caught_by=head.is_a_plain_model)
def nothing_returned(model):
    _untied(model).merge_and_unload()


@wrong(caught_by=head.is_a_plain_model)
def in_a_wrapper(model):
    class Served(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.save_pretrained = model, model.save_pretrained

        def forward(self, *args, **kwargs):
            return self.inner(*args, **kwargs)

    return Served()


@wrong(caught_by=head.says_the_same)
def the_head_alone(model):
    """The change of q and v is lost."""
    layer = model.get_output_embeddings()
    weight = (layer.base_layer.weight + layer.get_delta_weight("default")).detach()
    plain = model.unload()
    plain.lm_head.weight = nn.Parameter(weight)
    plain.config.tie_word_embeddings = False
    return plain


@wrong(caught_by=head.says_the_same)
def the_head_twice(model):
    _untied(model).merge_adapter()
    layer = model.get_output_embeddings()
    change = layer.get_delta_weight("default").detach()
    plain = model.unload()
    plain.lm_head.weight = nn.Parameter(plain.lm_head.weight.detach() + change)
    return plain


@wrong(caught_by=head.says_the_same)
def half_for_each_use(model):
    model.get_output_embeddings().scaling["default"] /= 2
    return model.merge_and_unload()


@wrong(caught_by=head.says_the_same)
def taken_off_the_embedding_again(model):
    """The head is the same tensor, and loses it as well."""
    change = model.get_output_embeddings().get_delta_weight("default").detach()
    merged = model.merge_and_unload()
    with torch.no_grad():
        merged.get_input_embeddings().weight.sub_(change)
    return merged


@wrong(caught_by=head.says_the_same)
def in_bfloat16(model):
    return _untied(model).merge_and_unload().to(torch.bfloat16)


@wrong(caught_by=head.says_the_same)
def untied_and_unloaded(model):
    return _untied(model).unload()


@wrong(caught_by=head.says_so_in_its_config)
def embedding_put_back_and_nothing_said(model):
    """Two matrices in the file, and a config that says one."""
    kept = model.get_input_embeddings().weight.detach().clone()
    merged = model.merge_and_unload()
    merged.get_input_embeddings().weight = nn.Parameter(kept)
    return merged
