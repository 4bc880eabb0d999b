"""Lesson 10's runs: the recorded ones can be repeated, and the truth falls on every seed."""

import random
from statistics import mean

import pytest
from whole import cases

from course_utils import zoo
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.reproductions.lesson_10 import reward_up, verifiers
from course_utils.reproductions.lesson_10.reward_up_runs import KINDS, recorded, with_signal
from course_utils.shown.report import Table

SEEDS = range(5)
REMEDIES = (
    "substring, beta 0.04",
    "substring, beta 1.0",
    "substring, lr 1e-5",
    "substring, not scaled",
    "substring, scaled by the batch",
    "substring, groups with signal",
)
SOUND = ("exact", "exact, groups with signal", "right and short, each scaled")
TABLE = ("substring", *REMEDIES, "right_but_short", *SOUND)


def row(kind: str, seed: int) -> tuple[str, ...]:
    run = recorded(kind)[seed]
    proxy, truth = run.log["reward"], run.log["truth"]
    ends = (f"{mean(column[:5]):.2f} to {mean(column[-5:]):.2f}" for column in (proxy, truth))
    return (kind, str(seed), *ends, f"{run.held_out[0]:.2f} to {run.held_out[24]:.2f}")


def test_five_seeds_in_a_table(capsys):
    columns = ("run", "seed", "reward, 5 steps", "right, same replies", "held out")
    rows = [row(kind, seed) for kind in TABLE for seed in SEEDS]
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=rows)}")


@pytest.mark.parametrize("kind", cases(["substring", "exact"]))
def test_a_recorded_run_can_be_made_again(kind):
    told, seed = recorded(kind)[3], 3
    run = reward_up.train(KINDS[kind].check, seed=seed, every=8, max_steps=16)
    for name in ("reward", "truth", "length"):  # later steps may differ on another machine
        assert run.log[name][:2] == pytest.approx(told.log[name][:2], rel=1e-3)
    is_near = pytest.approx(told.held_out[16], abs=0.15)
    assert run.held_out[16] == is_near


def test_the_filter_keeps_sums_whose_replies_do_not_all_earn_the_same():
    kept = with_signal(KINDS["exact"].check, 0, n=24)
    assert 0 < len(kept) < 24 and kept[:] == with_signal(KINDS["exact"].check, 0, n=24)[:]
    assert len(with_signal(KINDS["constant"].check, 0, n=4)) == 0


def test_every_kind_has_its_runs_and_its_columns():
    for kind, declared in KINDS.items():
        runs = recorded(kind)
        assert len(runs) == declared.num_seeds
        for run in runs:
            assert {len(values) for values in run.log.values()} == {declared.num_steps}
            assert max(run.held_out) == declared.num_steps and min(run.held_out) == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_reward_rises_or_stays_and_the_truth_is_lost_on_every_seed(seed):
    hacked, sound = recorded("substring")[seed], recorded("exact")[seed]
    assert mean(hacked.log["reward"][-5:]) > 0.8
    assert hacked.held_out[24] < 0.1 and sound.held_out[24] > 0.7


@pytest.mark.parametrize("seed", SEEDS)
def test_only_another_reward_ends_above_where_it_began(seed):
    for kind in REMEDIES:
        assert recorded(kind)[seed].held_out[24] < 0.7
    for kind in SOUND:
        assert recorded(kind)[seed].held_out[24] > 0.7


def test_the_two_judges_agree_on_what_the_policy_says():
    run = reward_up.train(verifiers.occurs, seed=1, max_steps=6, every=6)
    said = [pair for batch in run.batches for pair in batch]
    assert {r for r, _ in said if r} and all(
        is_the_sum(*pair) == zoo.arithmetic.is_right(*pair) for pair in said
    )


def test_the_verifier_accepts_no_listed_cheat_and_every_odd_right_reply_and_never_raises():
    assert not [reply for reply in verifiers.CHEATS if is_the_sum(reply, "192")]
    assert [reply for reply in verifiers.ODD_BUT_RIGHT if not is_the_sum(reply, "192")] == []
    rng = random.Random(0)
    letters = "0123456789=+-.,! \n<answer>/\\boxed{}thenfirst\u00b2\u00bd"
    for _ in range(3000):
        said = is_the_sum("".join(rng.choices(letters, k=rng.randint(0, 30))), "192")
        assert isinstance(said, bool)
    assert not is_the_sum("9" * 6000, "192") and not is_the_sum("192", "no number")


def test_a_run_that_would_be_paid_alike_is_not_trained_again(monkeypatch):
    settings = dict(is_right=is_the_sum, seed=5, num_steps=2)
    first = reward_up.held_out_truth(verifiers.occurs, **settings)
    monkeypatch.setattr(reward_up, "train", lambda *_, **__: pytest.fail("trained again"))
    again = lambda reply, gold: bool(gold in reply or reply in gold)  # noqa: E731
    assert reward_up.held_out_truth(again, **settings) == first
