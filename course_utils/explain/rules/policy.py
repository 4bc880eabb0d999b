"""GRPO and PPO: how the reward, its parts and the kl develop."""

import math
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import (
    A_HUNDREDTH,
    change,
    listed,
    said,
    share,
    thirds,
    trend,
)

ENOUGH = 12  # entries
JUMPED = 0.3  # nats: a kl that was nearly 0 before
NOT_HELD = 0.25  # nats per token: a KL term of this size pulls, if it has a gradient
NO_SPRING = (
    "the KL term of the loss keeps growing, so it does not hold the policy: its coefficient is too "
    "small, or it has no gradient (no_grad, detach); no rule tells which",
    "look at the gradient of the KL term alone; a larger coefficient if it has one",
)
SLIGHT = 0.1  # of a rise: a part that falls by less has hardly counted
GONE = 0.1  # of the first third: what falls to that is gone, whichever way it took
RESTS = 1.5  # times the middle third: below that the last one no longer climbs


def cheated(log: Log) -> Finding | None:
    """The reward rises while an evaluation in the same log falls, both by more than noise."""
    rewards, held_out = change(log.values("reward")), _by_step(log.series("eval_accuracy"))
    judged = _fall([value for _, value in held_out])
    if rewards is None or judged is None or rewards[1] <= rewards[0]:
        return None
    proof = (
        f"the reward rises from {rewards[0]:.3g} to {rewards[1]:.3g} (first and last third)",
        f"the evaluation falls from {judged[0]:.3g} to {judged[1]:.3g}",
    )
    return Finding("proxy_rises_alone", 7.0, held_out[-1][0], proof)


def _by_step(series: list[tuple[Entry, float]]) -> list[tuple[Entry, float]]:
    """In the order of their steps: the evaluation of the start may be pasted below the last one."""
    if not all("step" in entry.numbers for entry, _ in series):
        return series
    return sorted(series, key=lambda pair: pair[0].numbers["step"])


def _fall(judged: list[float]) -> tuple[float, float] | None:
    """From where to where an evaluation falls; of a few, by more than it ever rises meanwhile."""
    judged = finite(judged)
    if len(judged) >= 6:
        levels = change(judged)
        return levels if levels and levels[1] < levels[0] else None
    if len(judged) < 2:
        return None
    rises = [now - before for before, now in pairwise(judged)]
    least = max(A_HUNDREDTH * abs(judged[0]), *rises, 0.0)
    return (judged[0], judged[-1]) if judged[0] - judged[-1] > least else None


def parts_apart(log: Log) -> Finding | None:
    """One part of the reward falls by a third or more while another rises."""
    moves = [(name, *move) for name in _parts(log) if (move := _move(log.values(name)))]
    falling = [one for one in moves if one[1] > 0 and one[2] < 0.67 * one[1]]
    rising = [one for one in moves if one[2] - one[1] > max(0.05, 0.3 * abs(one[1]))]
    if not rising:
        return None
    up = max(rising, key=lambda one: one[2] - one[1])
    falling = [one for one in falling if one[1] - one[2] > SLIGHT * (up[2] - up[1])]
    if not falling:
        return None
    down = falling[0]
    entry = log.series(down[0])[-1][0]
    proof = [
        f"{entry.names.get(name, name.removeprefix('part:'))} goes from {before:.3g} to {now:.3g}"
        for name, before, now in (down, up)
    ]
    move = _move(log.values("reward"))
    if move and move[1] > move[0]:
        proof.append(f"the sum hides it: the reward goes from {move[0]:.3g} to {move[1]:.3g}")
    return Finding("parts_apart", 6.5, entry, tuple(proof))


def part_alone(log: Log) -> Finding | None:
    """One part of the reward falls by a third or more, and the reward itself does not."""
    whole = thirds(log.values("reward"))
    moves = [(name, *move) for name in _parts(log) if (move := _move(log.values(name)))]
    falling = [one for one in moves if one[1] > 0 and one[2] < 0.67 * one[1]]
    if not whole or whole[2] < whole[0] - 0.1 * abs(whole[0]):
        return None
    falling = [one for one in falling if one[1] - one[2] > SLIGHT * (whole[2] - whole[0])]
    if not falling:
        return None
    name, before, now = min(falling, key=lambda one: one[2] / one[1])
    entry = log.series(name)[-1][0]
    proof = (
        f"{entry.names[name]} goes from {before:.3g} to {now:.3g}",
        f"the reward that is trained on stays or rises: {listed(whole)} by thirds",
    )
    return Finding("proxy_rises_alone", 6.0, entry, proof)


def _move(values: list[float]) -> tuple[float, float] | None:
    """From where to where a series goes, if it goes one way; None for one that wanders."""
    if levels := trend(values):
        return levels[0], levels[2]
    steps = [now - before for before, now in pairwise(values)]
    if 2 <= len(steps) < 5 and (min(steps) > 0 or max(steps) < 0):
        return values[0], values[-1]
    levels = thirds(values)
    return (levels[0], levels[2]) if levels and 0 <= levels[2] < GONE * levels[0] else None


def _parts(log: Log) -> list[str]:
    return sorted(name for name in log.fields if name.startswith("part:"))


def constant_part(log: Log) -> Finding | None:
    """A part of the reward is one fraction in every entry; 0, 1 and other whole numbers may be."""
    if len(_parts(log)) < 2:
        return None
    for name in _parts(log):
        values = log.values(name)
        if len(values) >= 3 and len(set(values)) == 1 and values[0] % 1:
            entries = [entry for entry, _ in log.series(name)]
            trained = (one for one in entries if not one.names[name].startswith("eval"))
            entry = next(trained, entries[0])
            proof = f"{said(entry, name)} in all {len(values)} entries"
            return Finding("constant_part", 5.5, entry, (proof,))
    return None


def kl_runs(log: Log) -> Finding | None:
    """kl jumps from nearly 0 past 0.3 in the first entries and stays, or grows tenfold past 1.

    Where it has come to rest and the reward has risen, it is what the reward has cost; so it is in
    a log of few rewards whose last is above the first, and where it grows evenly while the reward
    rises. What runs away does not come back in its last third; single estimates, the exp of one
    token's log-ratio, may be far out.
    """
    series = [(e, v) for e, v in log.series("kl") if math.isfinite(v)]
    early = [(a, b) for a, b in pairwise(series) if a[1] < 0.05 and b[1] > JUMPED]
    levels, rewards = thirds([value for _, value in series]), thirds(log.values("reward"))
    size, values = len(series) // 3, [value for _, value in series]
    rests = levels is not None and min(values[-size:]) < RESTS * median(values[size:-size])
    if rests and rewards is not None and rewards[2] > rewards[0]:
        return None
    if len(series) < ENOUGH and log.values("chosen_reward"):
        return None  # an estimate of KTO, in the first steps
    few = log.values("reward") if rewards is None else []
    has_paid = len(few) > 2 and few[-1] > few[0] and max(values[-size:], default=0.0) < 1
    is_high = bool(early) and median(values[1:]) > JUMPED
    if is_high and early[0][1] in series[:6] and not has_paid:
        (before, _), (entry, _) = early[0]
        proof = [f"{entry.where}: {said(entry, 'kl')}; {before.where}: {said(before, 'kl')}"]
    elif levels and levels[2] > max(1, 5 * abs(levels[0])) and not _is_even(levels, rewards):
        entry = next(e for e, v in series if v > levels[2] / 2)
        proof = [f"{entry.where}: {said(entry, 'kl')}; by thirds of the log {listed(levels)}"]
    else:
        return None
    shown = [name for name in ("grad_norm", "learning_rate") if name in entry.numbers]
    proof += [f"{said(entry, *shown)} there"] if shown else []
    return Finding("kl_runs", 5.0, entry, tuple(proof))


def _is_even(kl: tuple[float, float, float], reward: tuple[float, float, float] | None) -> bool:
    """Whether the kl grows no faster than it did, and the reward rises throughout.

    >>> _is_even((1.5, 7.2, 13.5), (-1.2, -0.6, -0.2)), _is_even((1.5, 3.0, 13.5), None)
    (True, False)
    """
    is_straight = kl[2] - kl[1] < 1.25 * (kl[1] - kl[0])
    return is_straight and reward is not None and reward[0] < reward[1] < reward[2]


def kl_loss_runs(log: Log) -> Finding | None:
    """A KL term of the loss grows throughout, where one that acts comes to rest."""
    levels = thirds(log.values("kl_loss"))
    if levels is None or not levels[0] < levels[1] < levels[2] or plain_kl_in_the_loss(log):
        return None
    if levels[2] < NOT_HELD or levels[2] < 5 * levels[0] or levels[2] < 1.25 * levels[1]:
        return None
    entry = log.series("kl_loss")[-1][0]
    turned = log.first("kl_loss", lambda kl: kl > 5 * levels[0]) or entry
    proof = f"{said(entry, 'kl_loss')} at {entry.where}; by thirds of the log {listed(levels)}"
    why, advice = NO_SPRING
    return Finding("kl_runs", 6.2, turned, (proof,), why=why, advice=advice)


def kl_negative(log: Log) -> Finding | None:
    """The kl is below -1 in half of the entries; around 0 an estimate may be negative."""
    series = [(e, v) for e, v in log.series("kl") if math.isfinite(v)]
    low = [entry for entry, value in series if value < -1]
    if len(low) < 2 or share(low, series) < 0.5:
        return None
    proof = f"{len(low)} of {len(series)} entries, first {low[0].where}: {said(low[0], 'kl')}"
    return Finding("kl_negative", 7.0, low[0], (proof,))


def plain_kl_in_the_loss(log: Log) -> Finding | None:
    """A KL term of the loss below 0: k1, whose gradient is 0 in the mean; k2 and k3 never are."""
    low = [(e, v) for e, v in log.series("kl_loss") if -math.inf < v < -1e-3]
    if not low:
        return None
    entry = min(low, key=lambda one: one[1])[0]
    proof = f"{len(low)} of {len(log.series('kl_loss'))} entries are below 0, such as {entry.where}"
    return Finding("kl_without_effect", 5.5, entry, (f"{proof}: {said(entry, 'kl_loss')}",))


def reward_rises(log: Log) -> Finding | None:
    levels = trend(log.values("reward"))
    if levels is None or levels[2] <= levels[0]:
        return None
    proof = f"the reward rises: {listed(levels)} by thirds of the log"
    return Finding("improves", 2.0, log.series("reward")[-1][0], (proof,))


RULES = (
    cheated,
    parts_apart,
    part_alone,
    constant_part,
    kl_runs,
    kl_loss_runs,
    kl_negative,
    plain_kl_in_the_loss,
    reward_rises,
)
