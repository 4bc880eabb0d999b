"""Evaluations of a wrapped model that give times and no loss, and an error said in a title."""

import pytest

from tests.helpers.explained import answer, first, key, keys

WRAPPED = "model = get_peft_model(base, LoraConfig(r=8))"
TRAINS = [f"{{'loss': {2 - n / 10:.1f}, 'grad_norm': 1.0, 'epoch': {n}.0}}" for n in range(1, 4)]
TIMES = "{'eval_runtime': 24.1, 'eval_samples_per_second': 20.6, 'epoch': 3.0}"
WARNS = (
    "No label_names provided for model class `PeftModel`. Since `PeftModel` hides base models "
    "input arguments, if label_names is not given, label_names can't be set automatically"
)
EARLY = (
    "early stopping required metric_for_best_model, but did not find eval_loss so early stopping "
    "is disabled"
)
TABLE = ["Step\tTraining Loss\tValidation Loss", "50\t1.91\tNo log", "100\t1.74\tNo log"]


@pytest.mark.parametrize(
    "lines",
    [
        [WRAPPED, *TRAINS, TIMES],
        [WARNS, *TRAINS, TIMES],
        [WRAPPED, *TRAINS, EARLY],
        [WRAPPED, *TABLE],
        [">>> trainer.label_names", "[]", *TRAINS, TIMES],
        [
            WRAPPED,
            *TRAINS,
            "KeyError: \"The `metric_for_best_model` training argument is set to 'eval_loss', "
            "which is not found in the evaluation metrics. The available evaluation metrics are: "
            "['eval_runtime', 'eval_samples_per_second', 'epoch'].\"",
        ],
    ],
)
def test_an_evaluation_without_a_loss_lacks_the_names_of_its_labels(lines):
    found = first(*lines)
    assert found.key == "metric_not_there"
    assert "label_names=['labels']" in found.fix
    assert "which of the columns are labels" in found.says


@pytest.mark.parametrize(
    "lines",
    [
        [WARNS, *TRAINS, "{'eval_loss': 1.5, 'eval_runtime': 24.1, 'epoch': 3.0}"],
        [WRAPPED, "label_names=['labels'],", *TRAINS, TIMES],
        [WRAPPED, *TRAINS, "eval_steps=100, eval_batch_size=4"],
        ["Step\tTraining Loss\tValidation Loss", "50\tNo log\t1.91", "100\t1.8\t1.74"],
        [*TRAINS, TIMES],
    ],
)
def test_a_loss_names_that_are_given_or_no_wrapper_are_no_fault(lines):
    assert "metric_not_there" not in keys(*lines)


def test_an_error_in_a_title_does_not_hide_the_same_error_at_the_end():
    raised = (
        "KeyError: \"The `metric_for_best_model` training argument is set to 'eval_acc', which is "
        'not found in the evaluation metrics."'
    )
    said = answer("KeyError: 'eval_acc' in my run", *TRAINS, raised)
    assert said.causes[0].key == "metric_not_there"
    assert said.causes[0].at.text == raised


def test_an_error_before_a_run_that_goes_on_is_mended():
    assert key("KeyError: 'eval_acc' in my run", *TRAINS) == ""
