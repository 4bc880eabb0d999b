"""Adapters that are merged by hand, at the scale of their training and at another one."""

import pytest

from tests.helpers.explained import first

CONFIG = "LoraConfig(r=16, lora_alpha=16, use_rslora=True, target_modules='all-linear')"
CODE = ["scaling = config.lora_alpha / config.r", "W += scaling * (lora_B @ lora_A)"]


def test_a_scale_without_the_root_merges_too_little():
    one = first(CONFIG, *CODE)
    assert (
        one.key == "merged_not_equal" and "(4 and 1, with r 16 and alpha 16: 4 times)" in one.says
    )
    assert "too small" in one.says


def test_a_scale_with_a_root_that_was_not_trained_merges_too_much():
    rooted = CODE[0].replace("config.r", "math.sqrt(config.r)")
    one = first(CONFIG.replace("True", "False"), rooted, CODE[1])
    assert one.key == "merged_not_equal" and "too large" in one.says


def test_two_norms_that_are_apart_by_the_root_are_quoted():
    norms = ["get_delta_weight('default').norm() -> 8.021", "(merged - base).norm() -> 2.004"]
    assert "norms 8.021 and 2.004" in first(CONFIG, *CODE, *norms).for_it[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use_rslora=True", "use_rslora=False"),
        ("use_rslora=True, ", ""),
        ("config.r", "config.r ** 0.5"),
        ("config.r", "config.r if not config.use_rslora else config.lora_alpha / config.r**0.5"),
        ("W += scaling * (lora_B @ lora_A)", "print(scaling)"),
    ],
)
def test_the_scale_of_the_training_is_right(old, new):
    assert first("\n".join([CONFIG, *CODE]).replace(old, new)) is None
