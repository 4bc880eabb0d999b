"""A training log that is fine, and a model that answers garbage once it is merged or loaded."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

FALLS = {"loss": lambda n: 2.0 - n / 9, "grad_norm": 0.5, "learning_rate": 1e-4}
SAID = "I saved it with save_pretrained_merged and from that folder it writes gibberish, no stop."


def answer(said: str, **change):
    log = map(json.dumps, rows(12, **FALLS | change))
    return explain("\n".join([said, *log]) + "\n")


@pytest.mark.parametrize(
    "said", [SAID, "The adapter is merged and the exported model answers with garbled text."]
)
def test_a_saved_model_that_writes_garbage_is_not_laid_to_training(said):
    told = answer(said)
    assert [one.key for one in told.causes] == ["merged_not_equal"]
    one = told.causes[0]
    assert "no fault of the training" in one.says and "no rule tells" in one.says
    assert "template" in one.says + one.fix and "adapter" in one.fix
    assert any("line 1 says" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("I saved it every epoch; it is right and then it never stops.", {}),  # another complaint
        ("It writes gibberish from the first step on and the loss is 2.0.", {}),  # nothing saved
        (SAID, {"loss": lambda n: 2.0 + n / 2}),  # the run itself is at fault
        (SAID, {"loss": lambda n: 2.0 if n < 4 else float("nan")}),
    ],
)
def test_another_run_or_complaint_is_not(said, change):
    told = answer(said, **change)
    assert not any("no fault of the training" in one.says for one in told.causes)
