"""An adapter on a tied head: diagnose names the merge that changes both ends, and no other."""

import pytest
import torch
from peft import LoraConfig, get_peft_model

from course_utils import incidents, zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.tied_head import merged_copy

ROWS = {"input_ids": torch.arange(24).reshape(2, 12) + 20}


def adapted(*targets: str):
    model = zoo.load_policy("tiny", device="cpu")
    config = LoraConfig(r=4, target_modules=[*targets], init_lora_weights=False)
    torch.manual_seed(0)
    return get_peft_model(model, config)


def keys(model, served=None) -> list[str]:
    return [one.key for one in diagnose(model, batch=ROWS, served=served).causes]


@pytest.mark.filterwarnings("ignore:Model with `tie_word_embeddings")
@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_its_place_and_its_twin_is_not(variant):
    run = incidents.load_incident("tied_head_merged").make(variant, 0)
    batch, served = run.parts["batch"], run.parts["served"]
    with diagnose.watching(run.model, batch=batch, served=served) as ride:
        run.start()
    found = ride.report.causes
    assert [one.key for one in found] == ["tied_head_merged"] * (variant == "broken")
    assert all("lm_head" in one.place and "tie_word_embeddings=False" in one.fix for one in found)


def test_a_merge_that_nobody_has_made_yet_is_named_before_it_is_made():
    assert keys(adapted("q_proj", "lm_head")) == ["tied_head_merged"]
    assert keys(adapted("q_proj")) == []
    untied = zoo.load_policy("tiny", device="cpu")
    head = untied.lm_head.weight.detach().clone()
    untied.lm_head.weight, untied.config.tie_word_embeddings = torch.nn.Parameter(head), False
    config = LoraConfig(r=4, target_modules=["lm_head"], init_lora_weights=False)
    assert keys(get_peft_model(untied, config)) == []


def test_another_fault_of_what_is_served_keeps_its_name():
    model, base = adapted("q_proj", "lm_head"), zoo.load_policy("tiny", device="cpu")
    assert keys(model, served=base) == ["adapter_not_loaded"]
    twice = merged_copy(model, untied=True)
    with torch.no_grad():
        twice.model.layers[0].self_attn.q_proj.weight.mul_(3)
    assert keys(model, served=twice) == ["merged_not_equal"]
