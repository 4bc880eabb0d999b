"""An adapter that a program makes anew, one output under argmax, rows as before: beside twins."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

LEARNS = {"loss": lambda n: 2.0 - n / 10, "grad_norm": 0.9, "learning_rate": 1e-4}


def causes(text: list[str], *, behind: tuple[str, ...] = (), **columns):
    return explain("\n".join([*text, *map(json.dumps, rows(9, **columns)), *behind]) + "\n").causes


MADE = ("config = PeftConfig.from_pretrained(folder)", "model = get_peft_model(base, config)")
NONE = "trainable params: 0 || all params: 3,115,872,256 || trainable%: 0.0000"


def test_an_adapter_that_is_made_anew_is_named_and_no_frozen_run_behind_a_training():
    found = causes(["ours answers like the base"], behind=(*MADE, NONE), **LEARNS)
    assert found[0].key == "adapter_not_loaded" and "is a new one" in found[0].says
    assert "nothing_trainable" not in [one.key for one in found]


@pytest.mark.parametrize(
    "program",
    [
        (*MADE, 'model.load_adapter(folder, "default")'),
        (MADE[0], "model = PeftModel.from_pretrained(base, folder, config=config)"),
        ("config = LoraConfig(r=8)", MADE[1]),
    ],
)
def test_one_that_is_loaded_or_made_for_a_training_is_not(program):
    assert not any("is a new one" in one.says for one in causes([], behind=program, **LEARNS))


def test_before_any_step_no_trainable_weight_is_still_named():
    assert "nothing_trainable" in [one.key for one in explain(f"{NONE}\n").causes]


ONE = ["model = AutoModelForSequenceClassification.from_pretrained(n, num_labels=1)"]
LARGEST = "    said = p.predictions.argmax(-1)"
SAME = {"loss": lambda n: 0.2 - n / 50, "eval_loss": 0.1, "eval_accuracy": 0.47}


def test_one_output_under_argmax_is_named_where_no_evaluation_differs():
    one = causes([*ONE, LARGEST], **SAME)[0]
    assert one.key == "one_class" and "argmax over one column" in one.says


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ([ONE[0].replace("=1", "=2"), LARGEST], SAME),
        (ONE, SAME),
        ([*ONE, LARGEST], SAME | {"eval_accuracy": lambda n: 0.5 + n / 50}),
    ],
)
def test_two_outputs_a_threshold_or_evaluations_that_move_are_not(text, columns):
    assert not any("argmax over one column" in one.says for one in causes(text, **columns))


ADDED = ["tok.add_tokens(['<a>', '</a>'])", "lora = LoraConfig(r=8, target_modules=['q_proj'])"]


@pytest.mark.parametrize(("after", "is_told"), [("0.9998", True), ("0.7312", False)])
def test_rows_of_new_tokens_that_are_as_before_the_training_are_named(after, is_told):
    likeness = ("cosine(e[-2], e[-1]) before: 0.9998", f"cosine(e[-2], e[-1]) after: {after}")
    found = [one.key for one in causes(ADDED, behind=likeness, **LEARNS)]
    assert ("new_tokens_untrained" in found) == is_told
