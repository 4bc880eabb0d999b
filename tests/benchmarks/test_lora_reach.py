"""docs/lora_reach.md: true of known families, and made with the installed versions."""

import pytest

from benchmarks.diagnostics import lora_reach
from tests.helpers.whole import IS_WHOLE

STALE = "the installed versions give another page; run: make lora-reach"
# Family -> whether the seven names reach the experts, whether all-linear does, and the router.
KNOWN = {
    "qwen2_moe": (False, False, False),
    "gpt_oss": (False, False, False),
    "mixtral": (False, True, True),
    "qwen3_moe": (True, True, True),
    "llama4": (False, False, True),
}


@pytest.fixture(scope="module")
def written() -> str:
    return lora_reach.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_family_is_as_its_own_model_says_and_as_the_page_says(name, written):
    made = lora_reach.family(name)
    seven, linear = made.of("the seven names"), made.of("all-linear")
    reached = (not seven.misses_experts, not linear.misses_experts, linear.adapts_router)
    assert reached == KNOWN[name], STALE
    assert f"| {' | '.join(lora_reach.moe_row(made))} |" in written, STALE


def test_the_page_is_of_the_installed_versions(written):
    assert f"with {lora_reach.versions()}." in written, STALE


def test_a_dense_family_is_reached_whole():
    made = lora_reach.family("llama")
    assert made.kind == lora_reach.DENSE
    assert lora_reach.cell(made.reached["the seven names"]) == "attention, MLP"


def test_layers_of_one_kind_are_tried_once():
    with lora_reach.torch.device("meta"):
        config = lora_reach.CONFIG_MAPPING["deepseek_v3"]()
        model = lora_reach.AutoModelForCausalLM.from_config(config)
    lora_reach.keep_one_of_each_layer(model)
    layers = [type(layer.mlp).__name__ for layer in model.model.layers]
    assert layers == ["DeepseekV3MLP", "DeepseekV3MoE"]


@pytest.mark.skipif(not IS_WHOLE, reason="make prove makes the whole page, 40 CPU seconds")
def test_the_whole_page_is_current(written):
    assert lora_reach.page(*lora_reach.families()) == written, STALE
