"""A loss that grows from 0 and is the weighted KL alone: `rule(log, beside)`."""

import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, trend

_JUDGED = re.compile(r"\b(?:held[- ]out|eval\w*|test|validation|val)\b", re.IGNORECASE)
_AT_STEP = re.compile(r"\b(?:step|at|update) (\d+)\W{1,3}(0?\.\d+|\d{1,2}(?:\.\d+)? ?%)")
FEW, ROUNDED, NEAR, SMALL, GROWN = 6, 6e-5, 0.05, 0.5, 10.0  # entries; nats; of a loss; nats; times
RISEN = 1.05  # times the first
IS_THE_KL = (
    "a loss that grows from 0 is the KL term alone ({beta} times the kl, to the last digit that is "
    "printed): with one update per batch the ratio is 1 and the advantages of a group add up to 0, "
    "so that the reward is in the gradient and not in the loss, and the loss grows as the policy "
    "moves from its reference"
)


def loss_is_its_kl(log: Log, beside: Beside) -> Finding | None:
    """In all entries the loss is beta times the kl; reward and a held-out score rise."""
    beta, both = beside.printed("beta"), _pairs(log)
    if beta is None or not beta.number or len(both) < FEW:
        return None
    if any(abs(loss - beta.number * kl) > max(ROUNDED, NEAR * abs(loss)) for loss, kl in both):
        return None
    first, last = both[0][1], both[-1][1]
    rewards, judged = trend(log.values("reward")), _rises(beside)
    if not 0 <= first < last < SMALL or last < GROWN * first or both[-1][0] < 10 * ROUNDED:
        return None
    if rewards is None or rewards[2] <= rewards[0] or not judged:
        return None
    entry = log.series("loss")[-1][0]
    proof = (
        f"{said(entry, 'loss', 'kl')} at {entry.where}: {beta.value} x kl = "
        f"{beta.number * last:.2g}; so in all {len(both)} entries",
        f"the reward rises: {listed(rewards)} by thirds of the log",
        judged,
    )
    why = IS_THE_KL.format(beta=beta.value)
    return Finding("on_policy_zero_loss", 4.1, entry, proof, why=why)


def _pairs(log: Log) -> list[tuple[float, float]]:
    """The loss and the kl of each entry that has both."""
    some = [e.numbers for e in log.entries if {"loss", "kl"} <= e.numbers.keys()]
    pairs = [(numbers["loss"], numbers["kl"]) for numbers in some]
    return pairs if len(finite(v for pair in pairs for v in pair)) == 2 * len(pairs) else []


def _rises(beside: Beside) -> str:
    """A line with a held-out score at several steps, each above the one before; or ""."""
    for line in beside.words:
        found = _AT_STEP.findall(line.text) if _JUDGED.search(line.text) else []
        scores = [float(value.rstrip(" %")) for _, value in found]
        rises = all(now >= before for before, now in pairwise(scores))
        if len(scores) > 1 and rises and scores[-1] > RISEN * scores[0]:
            return line.says
    return ""


RULES_OF_SETTINGS = (loss_is_its_kl,)
