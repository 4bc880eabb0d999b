"""A forward pass outside of float16, and skipped steps that are all accounted for."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first


def overflow(scale: int) -> str:
    low = max(scale // 2, 1)
    said = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale:"
    return f"{said} {scale}, reducing to {low}"


SEARCH = [overflow(2**n) for n in range(12, 0, -1)]
LAST = "Exception: Current loss scale already at minimum - cannot decrease scale anymore."
WIDE = "[211.0, 9021.5, 60110.2, 81007.9, 99120.0]"
HALF = "[211.0, 9020.0, 60096.0, inf, nan]"


def test_blocks_that_pass_the_limit_of_float16():
    one = first(*SEARCH, LAST, WIDE, HALF, "GPU: Tesla T4")
    assert one.key == "fp16_overflow" and "99120" in one.says and "T4 has no bfloat16" in one.fix


def test_a_batch_that_is_nan_in_float16_alone():
    one = first(*SEARCH, LAST, "bf16: 1.9917", "fp16: nan")
    assert one.key == "fp16_overflow" and "finite in a wider format" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [WIDE, HALF.replace("inf, nan", "61000.0, 59000.0")],
        ["[211.0, 9021.5, 60110.2, 61007.9, 59120.0]", "[3.0, 4.0, 5.0, inf, nan]"],
        ["bf16: 1.9917", "fp16: 1.9920"],
        ["fp32: nan", "fp16: nan"],
    ],
)
def test_numbers_within_the_limit_or_broken_in_both_do_not_show_it(lines):
    assert "forward pass itself" not in first(*SEARCH, LAST, *lines).says


def test_a_zero_without_any_step_is_no_lack_of_labels():
    zero = "{'loss': 0.0, 'learning_rate': 0, 'epoch': 0.01}"
    causes = [one.key for one in explain("\n".join([*SEARCH, zero, LAST, zero, ""])).causes]
    assert causes[0] == "fp16_overflow" and "labels_masked" not in causes


LEARNS = [
    f"{{'loss': {0.7 - n / 50:.4f}, 'grad_norm': 3.{n}, 'learning_rate': 9e-06, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]


@pytest.mark.parametrize(("count", "is_healthy"), [(3, True), (90, False)])
def test_few_skipped_steps_whose_lines_are_shown_are_the_scalers_search(count, is_healthy):
    counted = f"[Rank 0] step=1200, skipped={count}, lr=[9e-06], mom=[[0.9, 0.999]]"
    search = [overflow(scale) for scale in (65536, 32768, 16384)]
    assert explain("\n".join([*search, *LEARNS, counted, ""])).is_healthy is is_healthy
