"""adapter_reach tells which tensors have an adapter, by part, and accuses nobody who chose it."""

import copy
import json

import pytest
import torch
from peft import IA3Config, LoraConfig, PromptTuningConfig, get_peft_model
from torch import nn
from transformers import (
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen2MoeConfig,
    Qwen2MoeForCausalLM,
)

from course_utils.diagnostics import adapter_reach, diagnose
from course_utils.diagnostics.reach.reading import ROWS, TRAINED
from course_utils.errors import BadRequest

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
SEVEN = [*ATTENTION, "gate_proj", "up_proj", "down_proj"]
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
DIMS = dict(
    **dict(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2),
    **dict(num_attention_heads=2, num_key_value_heads=1, head_dim=8),
)
MOE = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)


def qwen2_moe(**more):
    with torch.device("meta"):
        return Qwen2MoeForCausalLM(Qwen2MoeConfig(**DIMS | MOE | more))


def llama(**more):
    with torch.device("meta"):
        return LlamaForCausalLM(LlamaConfig(**DIMS | more))


def counts(report) -> dict[str, tuple[int, int]]:
    return {g.name: (g.num_adapted, g.num_matrices) for g in report.groups.values()}


def test_the_seven_names_leave_the_experts_of_a_mixture_without_an_adapter():
    report = adapter_reach(qwen2_moe(), SEVEN)
    found = counts(report)
    assert found["attention"] == (8, 8) and found["experts"] == (0, 4)
    assert found["shared experts"] == (6, 8) and found["router"] == (0, 2)
    assert report.misses_experts and report.means_experts and report.are_experts_stacked
    assert report.headline.startswith("No expert has an adapter: ")
    assert report.fix.startswith(f"to train the experts: target_parameters={EXPERTS}")


def test_what_the_fix_names_reaches_the_experts():
    model, missed = qwen2_moe(), adapter_reach(qwen2_moe(), SEVEN).out_of_reach
    report = adapter_reach(model, LoraConfig(target_modules=SEVEN, target_parameters=list(missed)))
    assert counts(report)["experts"] == (4, 4) and not report.fix
    assert report.headline.startswith("Every expert has an adapter (")


def test_the_share_is_of_all_weights():
    model = qwen2_moe()
    inside = sum(p.numel() for n, p in model.named_parameters() if ".experts." in n)
    share = adapter_reach(model, SEVEN).groups["experts"].share
    assert share == pytest.approx(inside / sum(p.numel() for p in model.parameters()))


def test_a_model_that_has_its_adapter_reads_as_one_that_only_tries_it():
    for config in (
        LoraConfig(target_modules=SEVEN),
        LoraConfig(target_modules=ATTENTION, target_parameters=EXPERTS),
        LoraConfig(target_modules="all-linear", modules_to_save=["lm_head"]),
        IA3Config(target_modules=["k_proj"], feedforward_modules=[]),
    ):
        tried = adapter_reach(qwen2_moe(), config)
        with torch.device("meta"):
            worn = get_peft_model(qwen2_moe(), copy.deepcopy(config))
        assert adapter_reach(worn).to_dict() == tried.to_dict()


def test_the_model_that_is_asked_about_stays_as_it_is():
    model = LlamaForCausalLM(LlamaConfig(**DIMS))
    before = {name: weight for name, weight in model.named_parameters()}
    config = LoraConfig(target_modules=SEVEN)
    adapter_reach(model, config)
    after = dict(model.named_parameters())
    assert after.keys() == before.keys() and all(after[n] is before[n] for n in before)
    assert not hasattr(model, "peft_config") and config.target_modules == set(SEVEN)


def test_names_without_a_module_are_said():
    with torch.device("meta"):
        model = GptOssForCausalLM(GptOssConfig(**DIMS, num_local_experts=4))
    report = adapter_reach(model, SEVEN)
    assert report.unmatched == ("down_proj", "gate_proj", "up_proj")
    assert "No adapter came from down_proj, gate_proj, up_proj." in report.headline


def test_an_adapted_router_is_said():
    with torch.device("meta"):
        model = MixtralForCausalLM(MixtralConfig(**DIMS, num_local_experts=4))
    report = adapter_reach(model, "all-linear")
    assert report.adapts_router and "The router is adapted." in report.headline
    assert not adapter_reach(model, ATTENTION).adapts_router


def test_attention_alone_is_a_choice_and_no_missed_expert():
    report = adapter_reach(qwen2_moe(), ATTENTION)
    assert report.misses_experts and not report.means_experts
    assert not adapter_reach(qwen2_moe(), [*ATTENTION, "shared_expert.up_proj"]).means_experts


def test_a_dense_model_has_neither_experts_nor_a_router():
    report = adapter_reach(llama(), SEVEN)
    assert report.headline == "An adapter on attention, dense MLP."
    assert not report.cause and not {"experts", "router", "shared experts"} & set(report.groups)


def test_a_tied_head_with_an_adapter_is_said():
    targets = [*ATTENTION, "lm_head"]
    assert (
        "a merge changes both" in adapter_reach(llama(tie_word_embeddings=True), targets).headline
    )
    assert "a merge" not in adapter_reach(llama(tie_word_embeddings=False), targets).headline


def test_weights_that_are_trained_without_an_adapter_are_counted_apart():
    saved = adapter_reach(
        llama(), LoraConfig(target_modules=["q_proj"], modules_to_save=["lm_head"])
    )
    assert {one.name for one in saved.tensors if one.state == TRAINED} == {"lm_head.weight"}
    rows = LoraConfig(target_modules=["q_proj"], trainable_token_indices=[1, 2])
    states = {one.name: one.state for one in adapter_reach(llama(), rows).tensors}
    assert states["model.embed_tokens.weight"] == ROWS


def test_a_plain_model_and_virtual_tokens_have_no_adapter_in_a_layer():
    assert adapter_reach(llama()).headline == "No adapter: 21 of 21 tensors are trained."
    prompt = PromptTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    with torch.device("meta"):
        model = get_peft_model(llama(), prompt)
    assert adapter_reach(model).headline == "No weight of the model has an adapter."


def test_what_peft_refuses_is_an_error_with_its_words():
    with pytest.raises(BadRequest, match="not found in the base model"):
        adapter_reach(llama(), ["nowhere"])
    with torch.device("meta"):
        model = get_peft_model(llama(), LoraConfig(target_modules=SEVEN))
    with pytest.raises(BadRequest, match="has an adapter"):
        adapter_reach(model, SEVEN)


def test_a_report_is_data_for_json():
    report = adapter_reach(qwen2_moe(), SEVEN)
    assert json.loads(json.dumps(report.to_dict()))["misses_experts"] is True


class ByHand(nn.Module):
    """An adapter of a library that nobody knows: it wraps a layer and holds its own weights."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.base_layer, self.down = layer, nn.Linear(16, 2)


def test_an_adapter_is_known_by_its_shape_and_not_by_its_class():
    model = llama().requires_grad_(False)
    attention = model.model.layers[0].self_attn
    attention.q_proj = ByHand(attention.q_proj)
    assert counts(adapter_reach(model))["attention"] == (1, 8)


@pytest.mark.parametrize(
    ("targets", "parameters", "is_found"),
    [(SEVEN, None, True), (ATTENTION, None, False), (ATTENTION, EXPERTS, False)],
    ids=["seven names", "attention by choice", "experts reached"],
)
def test_diagnose_finds_experts_that_were_meant_and_missed(targets, parameters, is_found):
    model = Qwen2MoeForCausalLM(Qwen2MoeConfig(**DIMS | MOE))
    config = LoraConfig(target_modules=targets, target_parameters=parameters)
    found = diagnose(get_peft_model(model, config))
    assert [one.key for one in found.causes] == ["experts_without_adapter"] * is_found


def test_diagnose_accuses_no_adapter_of_a_dense_model():
    for targets in (SEVEN, ATTENTION, ["gate_proj"]):
        model = LlamaForCausalLM(LlamaConfig(**DIMS))
        assert not diagnose(get_peft_model(model, LoraConfig(target_modules=targets))).causes
