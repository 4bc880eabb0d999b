"""Replies of older weights that are learnt from as if the weights were those of now:
`rule(log, beside)`."""

import math
import re
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, said, thirds

_NAMES = (
    r"(?:use[_-]tis|use[_-]rollout[_-]log_?probs|keep[_-]old[_-]actor|tis_imp_ratio_cap|"
    r"(?:vllm_)?importance_sampling_correction|use_decoupled_loss|rollout_is(?:_threshold)?)"
)
_OFF = re.compile(
    rf"\b{_NAMES}\b['\"]?(?:\s*[:=]\s*|\s+\.{{3,}}\s+)['\"]?(?:false|none|null)\b", re.I
)
_ON = re.compile(
    rf"\b{_NAMES}\b['\"]?(?:(?:\s*[:=]\s*|\s+\.{{3,}}\s+)['\"]?(?:true|[1-9]|token|sequence)|"
    rf"(?!['\"]?\s*[:=.])(?=\s|$))",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:update[_-]weights[_-]interval|sync_(?:interval|every)\w*|weight_sync_\w*steps?|"
    r"sync_ref_model_steps)['\"]?(?:\s*[:= ]\s*|\s+\.{3,}\s+)(\d+)"
)
FEW, TIMES, HALF = 3, 3.0, 0.5  # entries; by which the oldest part further; of the oldest
NO_CORRECTION = (
    "replies are learnt from as if the weights of now had written them, and weights from up to "
    "{age:g} updates ago did: sampler and trainer agree right behind a sync and part with every "
    "update until the next, while the ratio is taken to the trainer's own log-probs ({shown}), so "
    "that it is 1 and nothing is corrected or clipped. The sync itself works"
)
CORRECT = (
    "take the ratio to the log-probs of the engine that sampled, or weigh by it with a cap "
    "(truncated importance sampling; use_rollout_logprobs, use_tis, or the old actor kept), and "
    "send the weights more often; go back to weights from before the gradients grew"
)


def old_replies_uncorrected(log: Log, beside: Beside) -> Finding | None:
    """The difference of the log-probs is a saw-tooth of the age, and the ratio is always 1."""
    needed = {"staleness", "logp_difference"}
    some = [e for e in log.entries if needed <= e.numbers.keys()]
    some = [e for e in some if all(math.isfinite(e.numbers[name]) for name in needed)]
    same = [name for name in ("old_kl", "clip_ratio") if _is_nothing(log, name)]
    ages = [entry.numbers["staleness"] for entry in some]
    off = beside.all_matching(_OFF)
    if len(some) < 2 * FEW or len(same) < 2 or not off or beside.matching(_ON):
        return None
    young = [e for e in some if e.numbers["staleness"] <= 1]
    old = [e for e in some if e.numbers["staleness"] >= max(max(ages) - 1, 2)]
    if len(young) < FEW or len(old) < FEW or not _is_saw_tooth(young, old, log):
        return None
    low, high = (fmean(e.numbers["logp_difference"] for e in part) for part in (young, old))
    if high < TIMES * low:
        return None
    entry, back = old[0], next(e for e in young if log.is_after(e, old[0]))
    proof = [f"{said(one, 'staleness', 'logp_difference')} at {one.where}" for one in (entry, back)]
    proof.append(f"{said(entry, *same)}, in all {len(log.values('old_kl'))} entries")
    proof += [f"{line.where} says: {' '.join(words.split())}" for line, words in off[:3]]
    if every := beside.matching(_EVERY):
        proof.append(f"{every[0].where} says: {' '.join(every[1].split())}")
    if (rewards := thirds(log.values("reward"))) and rewards[2] < rewards[1]:
        proof.append(f"the reward by thirds of the log: {listed(rewards)}")
    why = NO_CORRECTION.format(age=max(ages), shown=said(entry, *same))
    return Finding("stale_sampler", 8.8, entry, tuple(proof), why=why, advice=CORRECT)


def _is_nothing(log: Log, name: str) -> bool:
    values = log.values(name)
    return len(values) >= FEW and not any(values)


def _is_saw_tooth(young: list[Entry], old: list[Entry], log: Log) -> bool:
    """Whether the difference falls again behind each of the older entries that a sync follows."""
    falls = 0
    for one in old:
        behind = next((e for e in young if log.is_after(e, one)), None)
        if behind is None:
            continue
        if behind.numbers["logp_difference"] > HALF * one.numbers["logp_difference"]:
            return False
        falls += 1
    return falls >= 2


RULES_OF_SETTINGS = (old_replies_uncorrected,)
