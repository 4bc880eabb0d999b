"""Right and wrong answers of exercise 09.7."""

import copy

import torch

from course_utils.exercises.lesson_09 import sync
from course_utils.exercises.lesson_09.sync import by_merged_copy
from tests.answers import answers_of

right, wrong = answers_of(sync.SYNC)


def _lora_layers(policy):
    return [
        (name.removeprefix("base_model.model."), layer)
        for name, layer in policy.named_modules()
        if hasattr(layer, "lora_A") and hasattr(layer, "base_layer")
    ]


@right
@torch.no_grad()
def by_hand_with_the_base(engine, policy):
    for name, weight in policy.named_parameters():
        if "lora_" not in name:
            name = name.removeprefix("base_model.model.").replace(".base_layer", "")
            engine.get_parameter(name).copy_(weight)
    only_where_an_adapter_is(engine, policy)


@wrong(caught_by=sync.can_be_repeated)
@torch.no_grad()
def only_where_an_adapter_is(engine, policy):
    """An engine with another base keeps the rest of it."""
    for name, layer in _lora_layers(policy):
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        weight = layer.base_layer.weight + layer.scaling["default"] * (b @ a)
        engine.get_submodule(name).weight.copy_(weight)


@right
def merge_and_back(engine, policy):
    kept = {name: value.clone() for name, value in policy.state_dict().items()}
    policy.merge_adapter()
    state = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): value.clone()
        for name, value in policy.state_dict().items()
        if "lora_" not in name
    }
    policy.unmerge_adapter()
    policy.load_state_dict(kept)
    engine.load_state_dict(state)


@wrong(caught_by=sync.engine_stays_an_engine)
def wraps_the_engine(engine, policy):
    from peft import get_peft_model

    if not any("lora_" in name for name, _ in engine.named_parameters()):
        get_peft_model(engine, policy.peft_config["default"])
    state = {n.removeprefix("base_model.model."): w for n, w in policy.state_dict().items()}
    engine.load_state_dict(state)


@wrong(caught_by=sync.policy_stays)
def merges_the_policy(engine, policy):
    merged = policy.merge_and_unload()
    engine.load_state_dict(merged.state_dict())


@wrong(caught_by=sync.policy_stays)
def leaves_it_merged(engine, policy):
    policy.merge_adapter()
    state = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): value
        for name, value in policy.state_dict().items()
        if "lora_" not in name
    }
    engine.load_state_dict(state)


@wrong(caught_by=sync.policy_stays)
def merges_and_unmerges(engine, policy):
    leaves_it_merged(engine, policy)
    policy.unmerge_adapter()


@wrong(caught_by=sync.engine_stays_an_engine)
def borrows_the_forward(engine, policy):
    engine.forward = policy.forward


@wrong(caught_by=sync.engine_stays_an_engine)
def exchanges_the_parameters(engine, policy):
    merged = copy.deepcopy(policy).merge_and_unload()
    engine.load_state_dict(merged.state_dict(), assign=True)


@wrong(caught_by=sync.policy_stays)
def leaves_dropout_off(engine, policy):
    by_merged_copy(engine, policy.eval())


@wrong(caught_by=sync.engine_stays_an_engine)
def becomes_a_copy(engine, policy):
    engine.__dict__.update(copy.deepcopy(policy).merge_and_unload().__dict__)


@wrong(caught_by=sync.can_be_repeated)
def forwards_a_copy(engine, policy):
    engine.forward = copy.deepcopy(policy).merge_and_unload().forward


@wrong(caught_by=sync.serves_what_is_trained)
def another_name(engine, policy):
    engine = copy.deepcopy(policy).merge_and_unload()  # noqa: F841


@wrong(caught_by=sync.policy_stays)
@torch.no_grad()
def resets_the_adapter(engine, policy):
    by_merged_copy(engine, policy)
    for _, layer in _lora_layers(policy):
        layer.lora_B["default"].weight.zero_()


@wrong(caught_by=sync.serves_what_is_trained)
def not_strict(engine, policy):
    engine.load_state_dict(policy.state_dict(), strict=False)


@wrong(caught_by=sync.serves_what_is_trained)
def base_weights_only(engine, policy):
    state = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): value
        for name, value in policy.state_dict().items()
        if "lora_" not in name
    }
    engine.load_state_dict(state)


@wrong(caught_by=sync.serves_what_is_trained)
@torch.no_grad()
def without_scaling(engine, policy):
    for name, layer in _lora_layers(policy):
        product = layer.lora_B["default"].weight @ layer.lora_A["default"].weight
        engine.get_submodule(name).weight.copy_(layer.base_layer.weight + product)


@wrong(caught_by=sync.serves_what_is_trained)
@torch.no_grad()
def queries_only(engine, policy):
    merged = copy.deepcopy(policy).merge_and_unload()
    for name, weight in merged.named_parameters():
        if "q_proj.weight" in name:
            engine.get_parameter(name).copy_(weight)


@wrong(caught_by=sync.serves_what_is_trained)
def returns_a_new_model(engine, policy):
    return copy.deepcopy(policy).merge_and_unload()


@wrong(caught_by=sync.can_be_repeated)
@torch.no_grad()
def adds_to_the_served(engine, policy):
    for name, layer in _lora_layers(policy):
        engine.get_submodule(name).weight.add_(layer.get_delta_weight("default"))


@wrong(caught_by=sync.can_be_repeated)
def only_once(engine, policy):
    if not getattr(engine, "is_synced", False):
        by_merged_copy(engine, policy)
        engine.is_synced = True
