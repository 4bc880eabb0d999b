"""Numbers that stand for one that is not finite: a norm of flags, a 0 at a rate that stands."""

import json
import math

import pytest
from explain_shapes import rows

from course_utils.explain import explain


def answer(log: list[dict], *before: str):
    return explain("\n".join([*before, *map(json.dumps, log)]) + "\n")


FLAGS = {
    "loss": lambda n: 13.2 if n == 0 else 0.0,
    "grad_norm": math.sqrt(5),
    "learning_rate": lambda n: n * 1e-7,
}


def test_a_norm_that_is_the_root_of_a_whole_number_is_a_flag():
    one = answer(rows(9, **FLAGS)).causes[0]
    assert "not finite" in one.says and one.at.where == "line 1"
    assert "5" in " ".join(one.for_it) and "2.236" in " ".join(one.for_it)
    assert "go back" not in one.fix and "DeepSpeed" in one.fix


@pytest.mark.parametrize(
    "change",
    [
        {"grad_norm": 2.0},  # a limit of clipping
        {"grad_norm": lambda n: math.sqrt(5) + n / 1e4},
        {"loss": lambda n: 1.9 - n / 50},  # it learns
        {"grad_norm": 2.2346},  # odd, and no root
    ],
)
def test_another_norm_is_no_flag(change):
    told = answer(rows(9, **FLAGS | change))
    assert not any("root of" in one.says for one in told.causes)


def test_no_checkpoint_is_before_a_fault_of_the_first_step():
    odd = rows(9, **FLAGS | {"grad_norm": 2.2346, "loss": lambda n: 2.0 if n == 0 else 0.0})
    odd[0]["loss"] = 0.0
    begins = answer(odd).causes[0]
    assert begins.key == "numbers_broken"
    assert "go back" not in begins.fix and "log grad_norm" not in begins.fix
    goes_on = [row | {"step": row["step"] + 80, "learning_rate": 1e-5} for row in odd]
    assert "go back" in answer(goes_on).causes[0].fix


STANDS = {
    "loss": lambda n: 1.3 + max(0, n - 6) / 4 if n < 10 else 0.0,
    "learning_rate": lambda n: 5e-5 - 7.3e-7 * min(n, 9),
}


@pytest.mark.parametrize(
    "line", ["    --fp16", "--fp16 True --x 1", "fp16: true", "mixed_precision: fp16"]
)
def test_a_loss_of_0_at_a_rate_that_stands_is_an_overflow_of_float16(line):
    one = answer(rows(18, **STANDS), line, "x").causes[0]
    assert one.key == "fp16_overflow" and one.at.where == "line 13"
    told = " ".join(one.for_it)
    assert "4.343e-05" in told and "line 1 says" in told


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"learning_rate": lambda n: 5e-5 - 7.3e-7 * n}, "--fp16"),  # the rate goes on
        ({"learning_rate": 5e-5}, "--fp16"),  # and this one never moved
        ({}, "--bf16"),
        ({}, "--fp16 False"),
        ({"loss": lambda n: 1.3 - n / 90}, "--fp16"),
    ],
)
def test_a_loss_of_0_is_none_without_the_rest(change, line):
    told = answer(rows(18, **STANDS | change), line, "x")
    assert "fp16_overflow" not in [one.key for one in told.causes]
