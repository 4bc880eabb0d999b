"""A group whose replies come out of a cache of responses."""

import pytest

from course_utils.explain import explain

SLOW, FAST = "12:00:0{} POST /generate 200 gen_tokens=310 {} ms", (2900, 5, 4, 6)
REQUESTS = [SLOW.format(n, took) for n, took in enumerate(FAST)]
DEAD = [f"step {n} reward 0.4 group reward_std_within_group 0.000 kl 0.0" for n in range(1, 5)]
ALIVE = [one.replace("0.000", "0.312") for one in DEAD]


def test_requests_that_are_answered_at_once_come_from_a_cache():
    one = explain("\n".join([*REQUESTS, *DEAD, ""])).causes[0]
    assert one.key == "no_signal" and "cache" in one.says and "2900 ms" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [*REQUESTS, *ALIVE],
        [*[SLOW.format(n, took) for n, took in enumerate((2900, 2500, 3100, 2800))], *DEAD],
        [*[one.replace("310", str(310 + n)) for n, one in enumerate(REQUESTS)], *DEAD],
    ],
)
def test_requests_that_take_their_time_or_differ_are_not_accused(lines):
    found = explain("\n".join([*lines, ""])).causes
    assert not any("cache" in one.says for one in found)
