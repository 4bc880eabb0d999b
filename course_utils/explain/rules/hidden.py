"""Numbers that stand for one that is not finite: a norm of flags, a 0 at a rate that stands."""

import math
import re
from itertools import pairwise
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, share
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules.start import UNIFORM

FEW = 4  # entries
MOST_GROUPS, TO_THE_DIGIT = 64, 1e-6  # of weights in one norm; of a root
ROSE = 1.3  # times the usual loss
_FLOAT16 = re.compile(
    r"--fp16\b(?!['\"]?[\s=:]+['\"]?(?:false|no|0)\b)|\bfp16['\"]?\s*[:=]\s*['\"]?true\b|"
    r"mixed_precision['\"]?\W+fp16\b|dtype['\"]?\W+(?:torch\.)?float16\b|\.half\(\)",
    re.IGNORECASE,
)
OF_FLAGS = (
    "grad_norm is the root of a small whole number in every entry, which no gradient is: ZeRO-3 of "
    "DeepSpeed writes -1 for the norm of a group of weights that is not finite and takes the root "
    "of the sum of squares, so the gradient is not finite, from the first entry on",
    "throw away what this run has saved; one forward and backward pass of the loaded model without "
    "DeepSpeed (the loss of a pretrained model is about 1 to 3), then with another version of it "
    "or overlap_comm false, and with another attention kernel; logging_nan_inf_filter=False shows "
    "the nan",
)
_REPLIES_ALONE = re.compile(
    r"\b(?:completion|assistant)_only_loss['\"]?\s*[:=]\s*['\"]?true\b|\btrain_on_responses_only\(",
    re.IGNORECASE,
)
_PACKS = re.compile(r"\b(?:sample_)?packing['\"]?\s*[:=]\s*['\"]?true\b", re.IGNORECASE)
_PROMPT = re.compile(r"['\"]prompt['\"]\s*:\s*(?P<q>['\"])(?P<text>.+?)(?P=q)\s*[,}]")
ALL_PROMPT = (
    "no row has a label left: every row is cut at the limit, within its prompt, and replies alone "
    "are learnt, so that the loss is 0 / 0, which is nan and logged as 0; the weights are nan from "
    "the first update on",
    "a limit above prompt and reply together (count the tokens of some rows), or shorter prompts; "
    "drop rows without a label, and begin again from the base: what was saved is nan",
)
OVERFLOWS = (
    "float16 has overflowed: the loss is nan, which is logged as 0, and the learning rate stands "
    "still because the scaler skips every step; nothing is learnt from there on",
    "bf16 in place of fp16 where the card has it, or float32; go back to a checkpoint from before "
    "the loss turned; if the loss rises again, a smaller learning rate",
)


def norm_of_flags(log: Log) -> Finding | None:
    """grad_norm is one root of a whole number in all entries, beside losses of 0 or a huge one."""
    series, losses = log.series("grad_norm"), log.values("loss")
    norms = {norm for _, norm in series}
    if len(series) < FEW or len(norms) > 1 or not losses:
        return None
    norm = norms.pop()
    groups = round(norm * norm) if 1 < norm < math.sqrt(MOST_GROUPS) else 0
    if not groups or math.isqrt(groups) ** 2 == groups:
        return None  # a whole number may be the limit of clipping
    is_broken = losses[0] > UNIFORM or share([1 for loss in losses if loss == 0], losses) > 0.5
    if abs(norm - math.sqrt(groups)) > TO_THE_DIGIT * norm or not is_broken:
        return None
    entry = series[0][0]
    shown = [name for name in ("loss", "learning_rate") if name in entry.numbers]
    beside = f" beside {said(entry, *shown)}" if shown else ""
    proof = [
        f"{entry.names['grad_norm']} is {norm:.8g} in all {len(series)} entries: the root of "
        f"{groups}, one for each of {groups} groups",
        f"{entry.where} has it already{beside}",
    ]
    if losses[0] > UNIFORM:
        proof.append(f"a first loss above {UNIFORM:g} is that of no loaded model: forward is wrong")
    why, advice = OF_FLAGS
    return Finding("numbers_broken", 8.0, entry, tuple(proof), why=why, advice=advice)


def zero_at_a_rate_that_stands(log: Log, beside: Beside) -> Finding | None:
    """In float16 the loss is 0 to the end, and the learning rate, which moved, has one value."""
    series = [(e, v) for e, v in log.series("loss") if "learning_rate" in e.numbers]
    tail = len(series)
    while tail and series[tail - 1][1] == 0:
        tail -= 1
    alive, dead = series[:tail], series[tail:]
    if log.kind() != "supervised" or len(alive) < FEW or len(dead) < FEW - 1:
        return None
    rates, before = ({e.numbers["learning_rate"] for e, _ in one} for one in (dead, alive[-FEW:]))
    if len(rates) > 1 or len(before) < FEW - 1 or not min(rates) > 0:
        return None
    if (named := _float16(beside)) is None:
        return None
    turned, last = dead[0][0], alive[-1][0]
    proof = [
        f"{turned.where}: {said(turned, 'loss', 'learning_rate')}, and both to the end, in "
        f"{len(dead)} entries; before it the rate moved with every entry",
        f"{named[0].where} says: {named[1].strip()}",
    ]
    usual = median(loss for _, loss in alive[: len(alive) // 2])
    if alive[-1][1] > ROSE * usual:
        proof.append(f"before it the loss rises, from {usual:.4g} to {said(last, 'loss')}")
    why, advice = OVERFLOWS
    return Finding("fp16_overflow", 8.0, turned, tuple(proof), why=why, advice=advice)


def rows_full_of_prompts(log: Log, beside: Beside) -> Finding | None:
    """The gradient is nan from the first entry on, replies alone are learnt, each row is as long
    as the limit, and a prompt that is shown is longer."""
    norms, tokens = log.values("grad_norm"), log.values("tokens")
    if len(norms) < FEW or any(map(math.isfinite, norms)) or len(tokens) < FEW:
        return None
    alone, limit = beside.matching(_REPLIES_ALONE), beside.printed("max_length")
    each = {now - before for before, now in pairwise((0.0, *tokens))}
    if alone is None or limit is None or not limit.number or beside.matching(_PACKS):
        return None
    shown = _prompt_above(limit.number, beside)
    rows = each.pop() / limit.number if len(each) == 1 else 0.0
    if shown is None or rows < 1 or rows % 1 or any(log.values("token_accuracy")):
        return None
    entry = log.series("tokens")[0][0]
    proof = (
        f"{said(entry, 'loss', 'grad_norm', 'tokens')} at {entry.where}: {rows:g} x "
        f"{limit.number:g}, and as many in each of {len(tokens)} entries, so every row is as long "
        f"as {limit.written} allows, and was cut",
        f"{shown[0].where} shows a prompt of {shown[1]} words and signs, so of about as many "
        "tokens at least",
        f"{alone[0].where} says: {alone[1]}",
        f"{entry.names['grad_norm']} is nan in all {len(norms)} entries",
    )
    why, advice = ALL_PROMPT
    return Finding("labels_masked", 9.3, entry, proof, why=why, advice=advice)


def _prompt_above(limit: float, beside: Beside) -> tuple[Line, int] | None:
    """A prompt that is shown, with its words and signs, if they are as many as the limit."""
    for line in beside.words:
        if (found := _PROMPT.search(line.text)) is None:
            continue
        number = len(re.findall(r"\w+|[^\w\s]", found["text"]))
        if number >= limit:
            return line, number
    return None


def _float16(beside: Beside) -> tuple[Line, str] | None:
    """The line of a program, and no sentence, that switches float16 on."""
    lines = (line for line in beside.words if not is_prose(line.text))
    found = ((line, _FLOAT16.search(line.text)) for line in lines)
    return next(((line, match[0]) for line, match in found if match), None)


RULES = (norm_of_flags,)
RULES_OF_SETTINGS = (zero_at_a_rate_that_stands, rows_full_of_prompts)
