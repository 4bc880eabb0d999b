"""Lesson 07's broken run never stops and its twin does, over five seeds; the log hides it."""

from statistics import mean

import pytest
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from course_utils import zoo
from course_utils.report import Table
from course_utils.reproductions import never_stops
from course_utils.reproductions.never_stops_outcomes import Outcome, outcome

SEEDS = range(5)


def by_id(rows, pad):
    """Labels made from ids, as many scripts do it."""
    batch = DataCollatorForLanguageModeling(pad_token_id=pad)(rows)
    batch["labels"][batch["labels"] == pad] = -100
    return batch


def run(seed: int, *, pad_is_end: bool) -> Outcome:
    """One run; nothing but the pad token differs."""
    pad = "<|im_end|>" if pad_is_end else "<|endoftext|>"
    return outcome(by_id, pad=pad, seed=seed)


def row(seed: int) -> tuple[str, ...]:
    cells = [str(seed)]
    for pad_is_end in (False, True):
        came = run(seed, pad_is_end=pad_is_end)
        logged = f"{mean(came.losses):.2f}, {came.losses[-1]:.3f}"
        seen = came.behaviour
        cells += [logged, f"{came.logp_after:.1f}", f"{seen.stops:.0%}", f"{seen.right:.0%}"]
    return tuple(cells)


def test_five_seeds_in_a_table(capsys):
    own, end = "loss, own pad", "loss, pad = end"
    columns = ("seed", own, "end", "stop", "right", end, "end", "stop", "right")
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=[row(seed) for seed in SEEDS])}")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broken_run_never_stops_adds_as_well_and_has_the_lower_loss(seed):
    healthy, broken = run(seed, pad_is_end=False), run(seed, pad_is_end=True)
    assert healthy.behaviour.stops >= 0.95 and healthy.behaviour.right >= 0.9
    assert broken.behaviour.stops <= 0.02 and broken.behaviour.right >= 0.85
    assert mean(broken.losses) < mean(healthy.losses)
    assert broken.logp_after < broken.logp_before < healthy.logp_after


def test_the_base_adds_and_does_not_stop_and_the_shipped_model_does_both():
    base = never_stops.behaviour(never_stops.base_model())
    shipped = never_stops.behaviour(zoo.load_policy("tiny", device="cpu"))
    assert base.stops == 0 and shipped.stops == 1 and shipped.right >= 0.98
