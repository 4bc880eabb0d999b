"""`diagnose` reads a saved folder: its log, tensors, adapter, tokenizer."""

import json

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.errors import BadRequest


@pytest.fixture
def saved(tmp_path):
    """A healthy folder."""
    zoo.load_policy("tiny", device="cpu").save_pretrained(tmp_path)
    zoo.load_tokenizer("tiny").save_pretrained(tmp_path)
    return tmp_path


def rewrite(folder, change) -> None:
    file = next(folder.glob("*.safetensors"))
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, metadata={"format": "pt"})


def test_a_healthy_folder_is_quiet(saved):
    report = diagnose(saved)
    assert report.is_healthy, str(report)
    assert "saved tensors" in report.checked


def test_a_broken_tensor_is_named(saved):
    rewrite(saved, lambda t: t["model.layers.0.mlp.up_proj.weight"].view(-1)[0].fill_(torch.inf))
    report = diagnose(saved)
    assert report.causes[0].key == "loaded_broken_weight"
    assert "model.layers.0.mlp.up_proj.weight holds 1 nan or inf" in report.headline


def test_an_end_that_generation_does_not_know(saved):
    path = saved / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": 7}))
    assert diagnose(saved).causes[0].key == "stops_elsewhere"


def test_the_log_of_a_checkpoint_goes_through_explain(saved):
    history = [{"step": 1, "loss": 826.0, "grad_norm": 4.1}, {"step": 2, "loss": 0.0}]
    history[1]["grad_norm"] = float("nan")
    (saved / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    assert diagnose(saved).causes[0].key == "nan_shown_as_zero"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda tensors: None, "adapter_not_loaded"),  # B is 0: nothing was learnt
        (lambda t: [t[n].fill_(0.1) for n in t], None),
    ],
)
def test_an_adapter_that_learnt_nothing(tmp_path, change, key):
    lora = LoraConfig(r=2, target_modules=["q_proj"])
    get_peft_model(zoo.load_policy("tiny", device="cpu"), lora).save_pretrained(tmp_path)
    rewrite(tmp_path, change)
    report = diagnose(tmp_path)
    assert [one.key for one in report.causes] == ([key] if key else []), str(report)


def test_keys_with_another_prefix(tmp_path):
    lora = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    get_peft_model(zoo.load_policy("tiny", device="cpu"), lora).save_pretrained(tmp_path)

    def renamed(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("base_model.model.")] = tensors.pop(name)

    rewrite(tmp_path, renamed)
    report = diagnose(tmp_path)
    assert report.causes[0].key == "adapter_not_loaded" and "do not begin with" in report.headline


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(BadRequest, match="no folder that a run saved"):
        diagnose(tmp_path)
    with pytest.raises(BadRequest, match="no folder that a run saved"):
        diagnose(tmp_path / "missing")
