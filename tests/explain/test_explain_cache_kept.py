"""An engine that keeps its prefix cache over updates of the weights."""

import json

import pytest

from tests.helpers.explained import answer

KEEPS = "  recompute_kv_cache_after_weight_updates: false"
RESETS = "INFO Successfully reset prefix cache"


def run(apart: list[float], name: str = "train/gen_kl_error") -> list[str]:
    shown = {"reward": 0.4, "grad_norm": 0.3}
    return [json.dumps({"step": n, name: one} | shown) for n, one in enumerate(apart, 1)]


SAW = [0.001, 0.002, 0.004, 0.008, 0.0011, 0.0019, 0.0041, 0.0012, 0.0022, 0.0045]


def test_a_difference_that_grows_since_each_start_is_of_kept_keys():
    one = answer(KEEPS, RESETS, *run(SAW), RESETS).causes[0]
    told = " ".join(one.for_it)
    assert one.key == "prefix_cache_kept" and one.fix.startswith("recompute_kv_cache")
    assert "0.001 at line 3" in told and "0.008 at line 6" in told and "0.0011 at line 7" in told
    assert "reset at line 2, line 13, and at no entry between" in told


def test_a_metric_that_is_1_where_both_agree_is_measured_from_1():
    saw = [1 + 10 * one for one in SAW]
    one = answer(KEEPS, *run(saw, "train/token_mult_prob_error")).causes[0]
    assert one.key == "prefix_cache_kept"


def test_a_single_start_leaves_another_cause_open():
    one = answer(KEEPS, *run([0.001 * n for n in range(1, 9)])).causes[0]
    assert one.key == "prefix_cache_kept" and "never reach it" in " ".join(one.against)


@pytest.mark.parametrize(
    "lines",
    [
        run(SAW),  # nothing says that the cache is kept
        [KEEPS.replace("false", "true"), *run(SAW)],
        [KEEPS, *run([0.001 + n % 2 / 9000 for n in range(12)])],
        [KEEPS, *run([0.001, 0.0011, 0.02, 0.001, 0.0012, 0.001, 0.0011, 0.001])],  # one spike
    ],
)
def test_a_difference_that_stays_is_not_of_the_cache(lines):
    assert "prefix_cache_kept" not in [one.key for one in answer(*lines).causes]
