"""Decides what lets replies grow with the score of a reward model: that no KL holds the policy."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, trend

_SWITCH = re.compile(
    r"\b(?:use_kl_loss|use_kl_in_reward|use_kl(?:_penalty)?)['\"]?\s*[=: ]\s*['\"]?"
    r"(?P<is_on>true|false)\b",
    re.IGNORECASE,
)
_COEFFICIENT = re.compile(
    r"\b(?:init_kl_coef|kl_coef|kl_loss_coef|kl_penalty_coef|kl_beta|beta)['\"]?\s*[=: ]\s*['\"]?"
    r"(?P<size>\d[\d.]*(?:e-?\d+)?)(?![\w/])",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"\breward[_ -]?model\b|\brm_(?:path|model)\b|\breward_pretrain\b|\bSkywork[\w-]*Reward",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"\breward_model\.enable['\"]?\s*[=:]\s*['\"]?false", re.IGNORECASE)
FALLS = 0.5  # of the entropy at first
FREE = (
    "replies grow into the length limit while the score of a reward model rises, and nothing holds "
    "the policy near the model that it began as: no KL to the reference is in the loss or in the "
    "reward. So it goes wherever that score is high, whether or not replies are good there"
)
OF_SAMPLER = ". {} is no such hold: it compares with the policy that sampled a step before"
HOLD = (
    "a KL to the reference, in the loss or in the reward (verl: use_kl_loss, or use_kl_in_reward "
    "with a kl_coef of 0.01 to 0.05), and a score in which length does not pay; go back to a "
    "checkpoint from before, chosen by another judge than this reward model"
)


def unheld(one: Finding, beside: Beside, log: Log) -> Finding:
    """Settings that leave out every KL to the reference, beside a model that scores replies."""
    scored, free = beside.matching(_SCORED), _free(beside)
    if one.why or not scored or not free or beside.matching(_NO_MODEL):
        return one
    levels = trend(log.values("entropy"))
    falls = levels and 0 < levels[2] < FALLS * levels[0]
    proof = [*one.for_it, *dict.fromkeys(line.says for line in (*free, scored[0]))]
    proof += [f"the entropy by thirds {listed(levels)}"] if falls else []
    near = log.series("old_kl")
    why = FREE + (OF_SAMPLER.format(near[0][0].names["old_kl"]) if near else "")
    return replace(one, for_it=tuple(proof), why=why, advice=HOLD)


def _free(beside: Beside) -> list[Line]:
    """The lines that turn every such KL off; none where one is on, or nothing is said of it."""
    told = [(line, m) for line in beside.words for m in _SWITCH.finditer(line.text)]
    if told:
        is_on = any(found["is_on"].lower() == "true" for _, found in told)
        return [] if is_on else [line for line, _ in told]
    sizes = [(line, m) for line in beside.words for m in _COEFFICIENT.finditer(line.text)]
    return [] if any(float(m["size"]) for _, m in sizes) else [line for line, _ in sizes]
