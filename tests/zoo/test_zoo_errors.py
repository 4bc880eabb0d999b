"""Every missing model, device or dtype ends in one clear sentence (8 s)."""

import shutil
import subprocess
import sys
import time

import pytest
from huggingface_hub import constants

from course_utils import zoo
from course_utils.errors import BadRequest, ModelUnavailable
from course_utils.zoo.load import WEIGHTS

LOADERS = [zoo.load_policy, zoo.load_reward_model, zoo.load_tokenizer]


@pytest.fixture(autouse=True)
def unreachable_hub(monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # nothing listens there


@pytest.mark.parametrize("load", LOADERS)
def test_an_unreachable_hub_is_one_error_within_seconds(load):
    started = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        load("Qwen/no-such-model-here")
    assert time.monotonic() - started < 10
    assert "'Qwen/no-such-model-here'" in caught.value.saw
    assert "connection" in caught.value.fix and '"tiny"' in caught.value.fix


def test_offline_mode_is_said_so(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailable, match=r"(?s)offline mode.*HF_HUB_OFFLINE"):
        zoo.load_policy("Qwen/no-such-model-here")


def test_a_model_in_the_cache_needs_no_hub(monkeypatch, tmp_path):
    snapshot = tmp_path / "models--someone--cached" / "snapshots" / "0123abc"
    shutil.copytree(WEIGHTS / "tiny-qwen2", snapshot)
    (tmp_path / "models--someone--cached" / "refs").mkdir()
    (tmp_path / "models--someone--cached" / "refs" / "main").write_text("0123abc")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert zoo.load_tokenizer("someone/cached").decode([0]) == "!"
    assert zoo.load_policy("someone/cached", device="cpu").config.model_type == "qwen2"


@pytest.mark.parametrize("model", ["./nowhere", "/no/where", "two words"])
def test_a_path_that_does_not_exist_is_not_sought_on_the_hub(model):
    with pytest.raises(ModelUnavailable, match=r"(?s)there is no model.*path of a folder"):
        zoo.load_policy(model)


@pytest.mark.parametrize("load", LOADERS)
def test_a_folder_without_a_model_says_what_is_missing(load, tmp_path):
    with pytest.raises(ModelUnavailable, match=r"(?s)cannot be loaded.*config\.json"):
        load(str(tmp_path))


@pytest.mark.parametrize("damaged", ["config.json", "model.safetensors"])
def test_a_damaged_model_names_the_folder(tmp_path, damaged):
    folder = shutil.copytree(WEIGHTS / "tiny-qwen2", tmp_path / "model")
    path = folder / damaged
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelUnavailable) as caught:
        zoo.load_policy(str(folder), device="cpu")
    assert str(folder) in caught.value.saw


def test_an_unknown_dtype_or_device_is_a_bad_request():
    with pytest.raises(BadRequest, match="dtype 'float17' does not exist"):
        zoo.load_policy("tiny", device="cpu", dtype="float17")
    with pytest.raises(BadRequest, match=r"(?s)device 'gpu7' cannot be used.*auto"):
        zoo.load_policy("tiny", device="gpu7")


def test_auto_takes_the_gpu_when_there_is_one(monkeypatch):
    found = {}
    for answer in (True, False):
        monkeypatch.setattr("torch.cuda.is_available", lambda answer=answer: answer)
        found[answer] = zoo.pick_device("auto").type
    assert found == {True: "cuda", False: "cpu"}


def test_the_zoo_is_listed_without_importing_torch():
    code = "import sys, course_utils.zoo; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
