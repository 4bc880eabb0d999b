"""Runs that were accused by a word: a metric that is stuck at a level, weights that are frozen,
a reward model whose scores drift, a run that was begun again on another machine."""

from tests.helpers.explained import answer, keys


def scores(loss: str = "") -> list[str]:
    rows = [(n, 0.69 - 0.015 * n, 0.5 + 0.02 * n, -0.2 * n, -0.3 * n) for n in range(12)]
    return [
        f"step {n} | loss {a:.3f} | acc {b:.2f} | chosen_reward {c:.2f} | rejected_reward {d:.2f}"
        f" | margin {c - d:.2f}{loss}"
        for n, a, b, c, d in rows
    ]


OF_A_RM = "openrlhf.cli.train_rm, our RM gets 72 of 100 pairs right; is that the end of it?"


def test_the_scores_of_a_reward_model_may_drift_below_0():
    told = answer(OF_A_RM, *scores())
    assert not told.causes and not told.worries
    assert any("constant" in one.says for one in told.no_faults)


def test_the_same_rewards_against_a_reference_are_pushed_down():
    dpo = "accelerate launch dpo.py, the model answers worse than before the run"
    assert "margin_by_pushing_down" in keys(dpo, *scores())


def climbs(more: str = "") -> list[str]:
    losses = [1.3, 1.31, 1.29, 1.3, 1.31, 1.3, 1.29, 1.3, 2.8, 8.9, 7.7, 7.5, 7.4, 7.4]
    return [f"step={10 * n} loss={loss}{more} tps=11011" for n, loss in enumerate(losses, 100)]


MOVED = "the job was preempted and restarted from the checkpoint of step 1060 on another node"


def test_without_a_rate_a_climb_behind_a_restart_is_not_laid_to_the_rate():
    assert keys(MOVED, *climbs()) == []
    assert answer(MOVED, *climbs()).worries


def test_a_climb_without_a_restart_or_with_its_rate_is():
    assert keys(*climbs()) == ["rate_too_high"]
    assert "rate_too_high" in keys(MOVED, *climbs(" lr=5e-4"))
