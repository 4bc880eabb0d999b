"""Several runs in one log: none of them is called healthy for another, and what differs is said."""

import json

import pytest
from explain_shapes import NAN, rows

from course_utils.explain import explain

GRPO = {"loss": 0.0, "reward": 0.4, "reward_std": 0.5, "kl": 0.0002, "completions/mean_length": 90}
SOUND = rows(
    8,
    **GRPO | {"reward": lambda n: 0.3 + n / 20},
    grad_norm=lambda n: 0.3 + n % 3 / 50,
    learning_rate=1e-6,
)
BROKEN = rows(12, **GRPO | {"kl": 0.0}, grad_norm=NAN, learning_rate=1e-6)
FALLS = rows(9, loss=lambda n: 2 - n / 10, grad_norm=lambda n: 0.7 + n % 2 / 30)
SETTINGS = {
    "gradient_accumulation_steps": ("GRPOConfig(gradient_accumulation_steps={})", "4", "1"),
    "dtype": ("tune run recipe --config 8B_full dtype={}", "fp16", "fp32"),
    "stage": ("ds.json: {{'zero_optimization': {{'stage': {}}}}}", "0", "1"),
    "zero stage": ("deepspeed --config ds_z{}_config.json", "2", "3"),
}


def said(*parts: list[dict] | str):
    """The answer to entries and lines, one after another."""
    lines = [part if isinstance(part, str) else "\n".join(map(json.dumps, part)) for part in parts]
    return explain("\n".join(lines) + "\n")


def test_a_broken_run_is_explained_although_another_one_follows():
    answer = said("head", BROKEN, "the same again", SOUND)
    assert answer.causes[0].key == "norm_never_finite"
    assert not answer.is_healthy
    assert "lines 2 to 13" in str(answer)
    assert "This is about the last one" not in str(answer)


def test_the_first_of_three_runs_is_found():
    assert said(BROKEN, "again", SOUND, "and again", SOUND).causes[0].at.where == "line 1"


def test_an_odd_run_of_no_known_cause_forbids_to_call_the_log_healthy():
    odd = [row | {"kl": 40.0, "grad_norm": 0.4} for row in SOUND]
    answer = said(odd, "again", SOUND)
    assert not answer.causes and not answer.is_healthy
    assert "lines 1 to 8" in str(answer)


def test_two_sound_runs_are_as_sound_as_one():
    assert said(SOUND).is_healthy and said(SOUND, "again", SOUND).is_healthy
    assert not said(FALLS, "again", FALLS).is_odd


@pytest.mark.parametrize("name", SETTINGS)
def test_the_setting_that_differs_is_named(name):
    line, bad, good = SETTINGS[name]
    answer = said(line.format(bad), BROKEN, line.format(good), SOUND)
    proof = " ".join(answer.causes[0].for_it)
    assert f"{bad} in it" in proof and f"{good} in the run of lines 15 to 22" in proof


def test_the_setting_that_differs_is_named_where_the_last_run_is_the_broken_one():
    line, bad, good = SETTINGS["gradient_accumulation_steps"]
    answer = said(line.format(good), SOUND, line.format(bad), BROKEN)
    assert f"{good} in the run of lines 2 to 9" in " ".join(answer.causes[0].for_it)


def test_nothing_is_said_of_settings_that_are_alike_or_not_printed():
    line, bad, _ = SETTINGS["gradient_accumulation_steps"]
    for heads in ((line.format(bad), line.format(bad)), (line.format(bad), "again")):
        answer = said(heads[0], BROKEN, heads[1], SOUND)
        assert "in it" not in " ".join(answer.causes[0].for_it)


def test_a_number_written_in_two_ways_is_one():
    answer = said("learning_rate=1e-4", BROKEN, "learning_rate=0.0001", SOUND)
    assert "in it" not in " ".join(answer.causes[0].for_it)


def test_runs_of_three_settings_in_tables():
    head = "gradient_accumulation_steps={}\n\n| Step | Training Loss | grad_norm |\n|---|---|---|"
    sound = "\n".join(f"| {n} | {2 - n / 10:.3f} | {0.8 + n % 2 / 20:.3f} |" for n in range(1, 9))
    broken = "\n".join(f"| {n} | {2 - n / 99:.3f} | nan |" for n in range(1, 9))
    answer = said(head.format(1), sound, head.format(2), broken, head.format(4), broken)
    assert answer.causes[0].at.where == "line 29"
    assert "4 in it, 1 in the run of lines 5 to 12" in " ".join(answer.causes[0].for_it)


def test_a_loss_of_0_is_no_hidden_nan_beside_a_kl_that_is_a_number():
    assert said(BROKEN).causes[0].key == "norm_never_finite"
    hidden = [row | {"kl": NAN} for row in BROKEN]
    assert said(hidden).causes[0].key == "nan_shown_as_zero"
