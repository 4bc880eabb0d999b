"""GRPO and PPO: the sampler's copy of the weights: damaged by a sync, or never renewed."""

import math
from statistics import median

from course_utils.explain.entries import Entry
from course_utils.explain.finding import Finding
from course_utils.explain.log import Log, finite
from course_utils.explain.numbers import listed, said, thirds, trend
from course_utils.explain.rules.replies import AGREE

APART = ("logp_difference", "rollout_kl", "probability_difference")
JUMPED, GROWN, MOVED = 5.0, 3.0, 5.0  # times the first; times the first third; of a kl
STEADY = 0.2, 0.8  # of the last third: where the middle one stands
MANY, FLAT, GAIN = 8, 0.1, 0.03  # entries; of a level: how far a flat one moves, or rises
DAMAGED = (
    "the sampler's copy of the weights is damaged by the sync: the trainer's policy does not move, "
    "and yet sampler and trainer part from the first sync on; reward, environment and gradient "
    "are not to blame",
    "send the weights in another way (another sync backend, one trainer process without shards, or "
    "full weights on disk) and compare checksums of the same tensors in both after the sync; keep "
    "this run without a learning rate, and a limit on the difference, as a test",
)


def damaged_by_sync(log: Log) -> Finding | None:
    """Rate and kl are 0 throughout, and the two engines part from the second entry on."""
    rates, kls = log.values("learning_rate"), log.values("kl") + log.values("kl_loss")
    if len(rates) < 2 or not kls or any(rates) or any(kls):
        return None
    for name in APART[:2]:
        series = [(e, v) for e, v in log.series(name) if math.isfinite(v)]
        if len(series) < 2:
            continue
        (first, low), *others = series
        if median(v for _, v in others) < JUMPED * max(low, AGREE):
            continue
        turned = others[0][0]
        proof = (
            f"{said(first, name)} at {first.where}, {said(turned, name)} at {turned.where}",
            f"the policy stands: {said(turned, 'learning_rate', *_kl(turned))} in all entries",
            *_other_replies(first, turned),
        )
        why, advice = DAMAGED
        return Finding("engines_disagree", 8.8, turned, proof, why=why, advice=advice)
    return None


def _kl(entry: Entry) -> list[str]:
    return [name for name in ("kl", "kl_loss") if name in entry.numbers][:1]


def _other_replies(first: Entry, turned: Entry) -> tuple[str, ...]:
    """Reward and length of both entries, where they show that the replies are others."""
    shown = [n for n in ("reward", "length") if n in first.numbers and n in turned.numbers]
    if not shown:
        return ()
    return (f"the replies change with it: {said(first, *shown)}, then {said(turned, *shown)}",)


def never_renewed(log: Log) -> Finding | None:
    """The policy leaves its start and the sampler step by step, and the replies stay the same."""
    moved = next((n for n in ("kl_loss", "kl") if _grows(log.values(n), MOVED)), None)
    if moved is None or not all(map(_stays, map(log.values, ("reward", "length")))):
        return None
    judged = finite(log.values("eval_accuracy"))
    if judged and max(judged) - min(judged) > GAIN * max(map(abs, judged)):
        return None
    for name in APART:
        series, levels = log.series(name), trend(log.values(name))
        if not _grows(log.values(name), GROWN) or levels[2] < AGREE:
            continue
        if not levels[2] * STEADY[0] < levels[1] < levels[2] * STEADY[1]:
            continue  # it jumps, or has come to rest
        first, last = series[0][0], series[-1][0]
        proof = [
            f"{said(first, name)} at {first.where}, {said(last, name)} at {last.where}: they part "
            "step by step",
            f"the trainer's policy moves: {said(last, moved)}, by thirds "
            f"{listed(thirds(log.values(moved)))}",
            f"the replies do not: reward by thirds {listed(thirds(log.values('reward')))}, length "
            f"{listed(thirds(log.values('length')))}",
        ]
        if len(judged) > 1:
            proof.append(f"the evaluation stays between {min(judged):.4g} and {max(judged):.4g}")
        turned = next((e for e, v in series if v > GROWN * series[0][1]), last)
        return Finding("stale_sampler", 7.3, turned, tuple(proof))
    return None


def _grows(values: list[float], factor: float) -> bool:
    levels = trend(values) if len(values) >= MANY else None
    return levels is not None and 0 <= factor * levels[0] < levels[2]


def _stays(values: list[float]) -> bool:
    """Whether a level neither rises nor falls by much."""
    levels = thirds(values)
    if levels is None:
        return False
    change = (levels[2] - levels[0]) / max(abs(levels[0]), 1e-9)
    return -FLAT < change < GAIN


RULES = (damaged_by_sync, never_renewed)
