"""Samples that wait in a queue without a bound, ever longer: `rule(log, beside)`."""

import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, trend

_UNBOUNDED = re.compile(
    r"\b(?:\w+\.)*(?:Queue|JoinableQueue)\(\s*(?:maxsize\s*=\s*)?(?:0|-1)?\s*\)|"
    r"\bSimpleQueue\(|=\s*(?:collections\.)?deque\(\s*\)"
)
_HELD = re.compile(
    r"\bLifoQueue\b|\bmaxsize\s*=\s*(?:[1-9]|\w*[a-z])|\bmaxlen\s*=|"
    r"\bmax_(?:staleness|queue\w*|async_level|head_offpolicyness)\b\W{1,3}\d|"
    r"\bdrop(?:s|ped|ping)? (?:the )?(?:old|stale)",
    re.IGNORECASE,
)
FEW, GROWN, APART = 4, 5.0, 3.0  # entries; times the first; times the first difference
STEADY = 0.2, 0.8  # of the last third: where the middle one stands
OLDER = (
    "more samples are made than are learnt from, and those that are ready wait {where}: "
    "{last:.0f} wait at the end, so that what is learnt from is older with every step, however "
    "often the weights are sent"
)
HIDDEN = (
    ". {names} of 0 do not show it: they are taken to log-probs that the trainer computes itself "
    "just before its update, and not to those of the policy that sampled"
)
BOUND = (
    "bound the queue to a batch or two (maxsize, or let a new sample begin only when one is taken "
    "out), drop what is older than one or two versions of the weights, and log that age; take the "
    "ratio to the engine's log-probs, or weigh by it with a cap; go on from a checkpoint before "
    "the reward fell"
)


def ever_older(log: Log, beside: Beside) -> Finding | None:
    """The number of waiting samples grows throughout, and the sampler's log-probs move away."""
    series = log.series("queued")
    values = finite(value for _, value in series)
    levels, apart = trend(values), log.values("logp_difference")
    if len(values) < FEW or len(values) < len(series) or beside.matching(_HELD):
        return None
    is_even = levels is None or levels[2] * STEADY[0] < levels[1] < levels[2] * STEADY[1]
    grows = all(now > before for before, now in pairwise(values))
    if not grows or not is_even or values[-1] < GROWN * max(values[0], 1.0):
        return None
    moves, code = _moves(apart), beside.matching(_UNBOUNDED)
    if (apart and not moves) or not (moves or code):
        return None
    (first, _), (last, _) = series[0], series[-1]
    proof = [f"{said(one, 'queued')} at {one.where}" for one in (first, last)]
    if code:
        proof.append(code[0].says)
    if moves:
        ends = log.series("logp_difference")
        proof += [
            f"{said(one, 'logp_difference')} at {one.where}" for one, _ in (ends[0], ends[-1])
        ]
    same = [name for name in ("old_kl", "clip_ratio") if _is_nothing(log, name)]
    if same:
        proof.append(f"{said(last, *(n for n in same if n in last.numbers))}, as in all entries")
    if (rewards := trend(log.values("reward"))) and rewards[2] < rewards[0]:
        proof.append(f"the reward falls: {listed(rewards)} by thirds of the log")
    why = OLDER.format(last=values[-1], where="in a queue without a bound" if code else "for it")
    if same and moves:
        why += HIDDEN.format(names=" and ".join(last.names.get(n, n) for n in same))
    weight = 9.2 if moves and code else 7.6
    return Finding("stale_sampler", weight, last, tuple(proof), why=why, advice=BOUND)


def _moves(values: list[float]) -> bool:
    values = finite(values)
    return len(values) >= FEW and values[-1] >= APART * values[0] > 0


def _is_nothing(log: Log, name: str) -> bool:
    values = log.values(name)
    return len(values) >= FEW and not any(values)


RULES_OF_SETTINGS = (ever_older,)
