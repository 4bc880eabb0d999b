"""Scores of checkpoints that differ by no more than the noise of so few items."""

import pytest

from tests.helpers.explained import answer

TABLE = "|{}|      1|none  |     0|acc     |\u2191  |{:.4f}|\u00b1  |{:.4f}|"
WORSE = "Why is checkpoint 300 worse, and which checkpoint should I take?"


def table(*values: float, error: float = 0.033, task: str = "gsm8k    ") -> list[str]:
    return [TABLE.format(task, value, error) for value in values]


AIME = (
    "AIME 2024, 30 problems, one sample each at temperature 0.6. It goes up and down, no trend.",
    "step 50: 0.267",
    "step 100: 0.333",
    "step 150: 0.233",
    "step 200: 0.367",
    "step 250: 0.267",
    "step 300: 0.300",
)
COUNTS = (
    "Which one is best? 40 questions of our own, greedy.",
    "ckpt 1 solved 21/40",
    "ckpt 2 solved 24/40",
    "ckpt 3 solved 20/40",
    "ckpt 4 solved 23/40",
)
VERL = [
    f"step:{n} - actor/pg_loss:0.01 - critic/rewards/mean:{0.4 + n / 1000:.3f} - "
    f"val-core/aime24/acc/mean@1:{solved / 30:.4f}"
    for n, solved in zip(range(10, 70, 10), (8, 10, 7, 11, 9, 8), strict=True)
]


@pytest.mark.parametrize(
    "lines",
    [
        (WORSE, *table(0.62, 0.65, 0.60), *table(0.55, 0.53, 0.56, task="arc_easy ")),
        (WORSE, "base gsm8k 0.710 +/- 0.032", "tuned gsm8k 0.690 +/- 0.032"),
        AIME,
        COUNTS,
        ("AIME24 has 30 problems. Why does it not improve though the reward rises?", *VERL),
    ],
)
def test_differences_that_noise_makes_are_no_differences(lines):
    told = answer(*lines)
    [one] = [one for one in told.findings if one.key == "within_noise"]
    assert "standard error" in one.says and "avg@32" in one.fix and not told.causes


@pytest.mark.parametrize(
    "lines",
    [
        (WORSE, *table(0.62, 0.65, 0.40)),  # a real fall
        (WORSE, *table(0.62, 0.65, 0.60, error=0.008)),
        table(0.62, 0.65, 0.60),  # nobody asks
        (*AIME[:1], "step 50: 0.100", "step 100: 0.233", "step 150: 0.367", "step 200: 0.500"),
        (AIME[0].replace("one sample each", "avg@32"), *AIME[1:]),
        ("Is it worse? 1319 questions", *AIME[1:]),
    ],
)
def test_a_clear_difference_or_many_samples_are_not_noise(lines):
    assert "within_noise" not in {one.key for one in answer(*lines).findings}
