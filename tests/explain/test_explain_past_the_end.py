"""A rate that falls to 0 and climbs back smoothly is of a schedule that is stepped past its end."""

import math

import pytest

from tests.helpers.explained import first


def cosine(step: int, end: int, warm: int = 20) -> float:
    if step < warm:
        return step / warm
    return 0.5 + 0.5 * math.cos(math.pi * (step - warm) / (end - warm))


def run(rate, steps: range = range(10, 601, 20)) -> list[str]:
    return [
        f"step {n} | loss {2 - n / 900:.4f} | lr {1e-4 * rate(n):.3e} | grad_norm 0.71"
        for n in steps
    ]


CLIMBS = run(lambda n: cosine(n, 310))


def test_a_cosine_that_climbs_back_is_no_resume():
    one = first("total_training_steps=600", *CLIMBS)
    assert one.key == "schedule_ends_early" and "climbs back" in one.says
    assert "whole run" in one.fix and "step 310 of 600" in one.for_it[0]


def test_a_cosine_that_comes_again_and_again_is_stepped_with_each_batch():
    one = first(*run(lambda n: cosine(n, 110, 10)))
    assert one.key == "schedule_repeats" and "T_max" in one.fix
    assert any("times" in told for told in one.for_it) and one.against


PREPARED = "opt, scheduler = accelerator.prepare(opt, scheduler)"


def test_a_prepared_scheduler_is_named_where_the_processes_give_the_share():
    one = first("num_processes: 2", "warmup_steps: 60", PREPARED, "max_steps: 620", *CLIMBS)
    assert "a step for each process" in one.says and "num_processes" in one.fix
    assert any("620 / 2" in told for told in one.for_it) and any("opt, s" in t for t in one.for_it)


def test_processes_of_another_share_are_not_the_reason():
    one = first("num_processes: 8", "max_steps: 620", *CLIMBS)
    assert "a step for each process" not in one.says


@pytest.mark.parametrize(
    "lines",
    [
        ("lr_scheduler_type: cosine_with_restarts, num_cycles: 2", *CLIMBS),
        run(lambda n: cosine(n, 600)),
        run(lambda n: max(0.0, 1 - n / 580)),
        run(lambda n: cosine(n % 300, 300, 1)),  # it begins anew at once
    ],
)
def test_a_schedule_that_is_meant_so_is_not(lines):
    one = first(*lines)
    assert one is None or "climbs back" not in one.says


def test_a_short_warm_up_behind_a_resume_is_still_a_lost_schedule():
    old, new = run(lambda n: cosine(n, 700), range(10, 400, 20)), range(410, 700, 20)
    one = first(*old, *run(lambda n: min(1.0, (n - 400) / 90), new))
    assert one.key == "resumed_without_state"


def test_what_is_said_to_be_resumed_at_its_lowest_rate_is_no_mirror():
    one = first(*CLIMBS[:16], "resuming from step 310", *CLIMBS[16:])
    assert one is None or "climbs back" not in one.says
