"""GRPO and PPO: a policy, or a reward, that breaks down for good."""

import math
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import deviation, listed, said, thirds

AT_ONCE = (
    "the reward is exactly 0 from one entry to the next, and stays there: what computes it has "
    "failed (a service, a parser, another format), replies are empty or cut, or the weights are "
    "nan; no rule tells which",
    "read three replies and their rewards from before and after; log the errors of the reward "
    "function, length, entropy and grad_norm",
)
CERTAIN = 0.01  # nats per token
FALLEN = 0.8  # of the best third of the rewards


def collapse(log: Log) -> Finding | None:
    """The reward falls for good: below half of what it had gained, and beyond the noise.

    The mean of a reward model's scores is free: its loss sees differences alone.
    """
    series = [(e, r) for e, r in log.series("reward") if math.isfinite(r)]
    if len(series) < 8 or log.scores_pairs:
        return None
    rewards = [reward for _, reward in series]
    means = [fmean(rewards[i : i + 3]) for i in range(len(rewards) - 2)]
    best = max(range(len(means)), key=means.__getitem__)
    low = min(0.0, *rewards)
    floor = low + (means[best] - low) / 2
    after = [(e, r) for e, r in series[best + 2 :] if r < floor]
    if len(after) < 5 or means[-1] >= floor or means[best] - low < 0.05:
        return None
    if means[best] - fmean(r for _, r in after) < 3 * deviation(rewards[: best + 3]):
        return None
    turned = _first_below(series[best + 2 :], means[best] - 2 * deviation(rewards[: best + 3]))
    proof = [
        f"the reward was {means[best]:.3g} around {series[best][0].where} and is {means[-1]:.3g} "
        f"at the end; it fell at {turned.where}: {said(turned, 'reward')}"
    ]
    for name in ("kl", "kl_loss", "grad_norm", "entropy", "length"):
        early = [v for e, v in log.series(name) if math.isfinite(v) and _before(log, e, turned)]
        if early and name in turned.numbers and _jumps(early[-1], turned.numbers[name]):
            proof.append(f"{said(turned, name)} there, {early[-1]:.3g} before")
    if turned.numbers["reward"] == 0 and all(r == 0 for _, r in after):
        why, advice = AT_ONCE
        return Finding("collapse", 6.0, turned, tuple(proof), why=why, advice=advice)
    return Finding("collapse", 6.0, turned, tuple(proof))


def _first_below(series: list[tuple[Entry, float]], floor: float) -> Entry:
    """The first entry from which on no reward is above the floor again."""
    turned = series[-1][0]
    for entry, reward in reversed(series):
        if reward >= floor:
            break
        turned = entry
    return turned


def certain_and_poor(log: Log) -> Finding | None:
    """Almost no entropy is left, and the policy earns less than it did, or than its critic expects.

    A policy that has solved its task is as certain, but earns what its critic expects.
    """
    entropies, rewards = log.series("entropy"), finite(log.values("reward"))
    if not entropies or not rewards or not 0 <= entropies[-1][1] < CERTAIN:
        return None
    entry, levels, expected = entropies[-1][0], thirds(rewards), finite(log.values("critic_value"))
    if levels is not None and levels[2] < FALLEN * max(levels[:2]):
        proof = f"the reward falls: {listed(levels)} by thirds of the log"
    elif expected and expected[-1] > 2 * rewards[-1] >= 0:
        proof = f"the critic expects {expected[-1]:.3g} and the reward is {rewards[-1]:.3g}"
    else:
        return None
    why = "the policy has collapsed: it is certain of its tokens, and its reward is low"
    shown = f"{entry.where}: {said(entry, 'entropy')}"
    return Finding("collapse", 5.5, entry, (shown, proof), why=why)


def _before(log: Log, one, other) -> bool:
    """Whether an entry stands before another."""
    order = {id(entry): number for number, entry in enumerate(log.entries)}
    return order[id(one)] < order[id(other)]


def _jumps(before: float, now: float) -> bool:
    return not math.isfinite(now) or abs(now) > 3 * abs(before) or abs(now) < abs(before) / 3


RULES = (collapse, certain_and_poor)
