"""The script that makes the shipped weights repeats itself and writes what loads again (9 s)."""

import json
import random
from dataclasses import replace

import pytest
from click.testing import CliRunner

from course_utils import zoo
from course_utils.zoo import make


@pytest.fixture(autouse=True)
def a_short_training(monkeypatch):
    monkeypatch.setattr(make, "PHASES", [replace(phase, num_steps=2) for phase in make.PHASES])
    monkeypatch.setattr(make, "NUM_SUMS", {"easy": 100, "hard": 100})


@pytest.mark.parametrize("name", make.BUILDERS)
def test_training_twice_gives_the_same_tensors(name):
    first, again = (make.train(name)[0].state_dict() for _ in range(2))
    assert all(tensor.equal(again[key]) for key, tensor in first.items())


@pytest.mark.parametrize("name", make.BUILDERS)
def test_the_shipped_weights_have_the_shape_that_the_script_makes(name, monkeypatch):
    monkeypatch.setattr(make, "PHASES", ())
    made, shipped = make.train(name)[0], zoo.load_policy(name, device="cpu")
    shapes = [{key: t.shape for key, t in model.state_dict().items()} for model in (made, shipped)]
    assert type(made) is type(shipped) and shapes[0] == shapes[1]
    assert 0.9e6 < sum(weight.numel() for weight in made.parameters()) < 1.1e6


def test_only_hard_sums_are_given_up():
    pools = {level: zoo.arithmetic.prompts(99, 0, level=level).to_list() for level in make.NUM_SUMS}
    learning, doubting = (make.draw(phase, pools, random.Random(0)) for phase in make.PHASES)
    given_up = [row["prompt"][0]["content"] for row in doubting if not row["answer"]]
    assert all(row["answer"].isdigit() for row in learning)
    assert len(given_up) == 16 and all(question.count("+") == 2 for question in given_up)


def test_only_the_answer_and_its_end_are_learned():
    tokenizer = zoo.load_tokenizer("tiny")
    rows = zoo.arithmetic.prompts(20, 0).to_list()
    batch = make.encode(tokenizer, rows)
    learned = [tokenizer.decode(labels[labels != -100]) for labels in batch["labels"]]
    assert learned == [row["answer"] + "<|im_end|>" for row in rows]
    assert batch["labels"][:, -1].tolist() == [tokenizer.eos_token_id] * 20


def test_the_command_writes_a_model_that_loads(monkeypatch, tmp_path):
    monkeypatch.setattr(make, "WEIGHTS", tmp_path)
    result = CliRunner().invoke(make.main, ["tiny-qwen2"], catch_exceptions=False)
    folder = tmp_path / "tiny-qwen2"
    assert result.exit_code == 0 and "held-out easy sums right" in result.output
    assert zoo.load_policy(str(folder), device="cpu").config.model_type == "qwen2"
    assert zoo.load_tokenizer(str(folder)).padding_side == "left"


def test_the_tokenizer_is_one_that_transformers_4_knows():
    config = json.loads((make.WEIGHTS / "tiny-qwen2" / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast" and config["chat_template"]
