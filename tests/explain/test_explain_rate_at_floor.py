"""A schedule that ended before the first entry, as where it came with a checkpoint."""

import pytest

from course_utils.explain import explain

ASKED = ["lr: 4e-5  min_lr: 2e-6  decay: cosine"]
KEPT = ["restored scheduler state: total 900, warmup 20"]


def rows(rate: str, first: int = 900, steps: int = 3000) -> list[str]:
    return [
        f"iteration {first + 50 * n}/{steps} | learning rate: {rate} | lm loss: 1.3{n}"
        for n in range(6)
    ]


def test_a_rate_that_stands_at_its_floor_has_a_schedule_that_is_over():
    one = explain("\n".join([*ASKED, *KEPT, *rows("2e-6"), ""])).causes[0]
    assert one.key == "schedule_ends_early" and "checkpoint" in one.says and "900" in one.says


def test_an_end_that_was_set_by_hand_is_told_too():
    one = explain("\n".join([*ASKED, "lr_decay_steps: 800", *rows("2e-6"), ""])).causes[0]
    assert one.key == "schedule_ends_early" and "came with the checkpoint" not in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [*ASKED, *KEPT, *rows("4e-5")],  # a constant rate, as it was asked for
        [*ASKED, *KEPT, *rows("2e-6", first=2750)],  # the end of the run
        [*ASKED, *rows("2e-6")],  # no line gives an end
        [*ASKED, "lr_decay_steps: 3000", *rows("2e-6")],
    ],
)
def test_a_rate_that_may_be_meant_is_not_accused(lines):
    assert not explain("\n".join([*lines, ""])).causes
