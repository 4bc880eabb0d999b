"""DPO whose rewards are a fraction of the log-probs themselves has a reference of zeros."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first

OF_DPO = "python dpo.py --beta 0.05 --ref_model base"


def rows(reference: float, form: str = "dict", beta: float = 0.05):
    told = []
    for n in range(1, 8):
        chosen, rejected = -210.0 + 3 * n, -190.0 - 5 * n
        better, worse = beta * (chosen - reference), beta * (rejected - reference)
        values = {
            "loss": 2.1 - n / 9,
            "rewards/chosen": round(better, 3),
            "rewards/rejected": round(worse, 3),
            "logps/chosen": chosen,
            "logps/rejected": rejected,
        }
        cells = " | ".join(f"{name}  {value:.4f}" for name, value in values.items())
        told.append(str(values) if form == "dict" else f"[step {n:4}] {cells}")
    return told


@pytest.mark.parametrize("form", ["dict", "bars"])
def test_a_reward_that_is_beta_times_the_log_prob_has_no_reference(form):
    one = first(OF_DPO, *rows(0.0, form))
    assert one.key == "wrong_reference" and "without a reference" in one.says
    assert "0.05 times" in one.for_it[0] and "all 14" in one.for_it[0]


@pytest.mark.parametrize("words", ["loss_type: simpo", "CPOTrainer", "reference_free: true"])
def test_a_loss_that_has_no_reference_is_meant_so(words):
    one = first(words, OF_DPO, *rows(0.0))
    assert one is None or "without a reference" not in one.says


@pytest.mark.parametrize("lines", [(OF_DPO, *rows(-205.0)), tuple(rows(0.0))])
def test_rewards_against_a_reference_or_of_an_unknown_loss_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or "without a reference" not in one.says


def test_a_reference_that_is_not_free_is_still_asked_for():
    assert "without a reference" in first("reference_free: false", OF_DPO, *rows(0.0)).says


def test_the_first_of_rows_with_names_before_their_numbers_is_an_entry():
    told = explain("\n".join([OF_DPO, *rows(0.0, "bars"), ""]))
    assert told.num_entries == 7 and "step" in told.known


def test_a_rate_that_a_sentence_speaks_of_is_not_the_other_runs():
    sound = rows(-205.0, "bars")
    told = explain(
        "\n".join(
            [
                OF_DPO,
                "lr: 1e-6",
                *rows(0.0, "bars"),
                "and on one card:",
                *sound,
                "- with lr: 0 the first line was the same as in the run above",
                "",
            ]
        )
    )
    assert told.causes[0].key == "wrong_reference"
    assert not any("in the run of" in row for row in told.causes[0].for_it)
