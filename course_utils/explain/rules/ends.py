"""Where replies end, beside the limit that is printed for them: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

NEARLY_ALL, FEW, NEAR = 0.9, 4, 0.95
_MASKED = re.compile(r"mask_truncated_completions['\"]?\s*[:= ]\s*['\"]?true|overlong_filter", re.I)
ANOTHER_END = (
    "nearly every reply counts as cut, and none reaches the limit: replies end with another token "
    "than the eos_token that the trainer looks for{}",
    "make the token that ends a reply the tokenizer's eos_token (generation_config.eos_token_id "
    "lists those that end it); a longer limit changes nothing",
)
_PENALTY = re.compile(
    r"\b(?:(?P<name>penalty_reward_value|missing_eos_penalty)['\"]?\s*[=:]\s*(?P<value>-?\d+(?:\.\d+)?)"
    r"|non_eos_penalty['\"]?\s*[=:]\s*true)\b",
    re.IGNORECASE,
)
DEFAULT_PENALTY = -1.0  # of non_eos_penalty=True where no value is printed
_STOP_ID = re.compile(r"\bstop_token_id['\"]?\s*[=:]\s*(\d+)")
_EOS_ID = re.compile(r"\beos_token_id['\"]?\s*[=:]\s*\[?(\d+)")
_EOS = re.compile(r"\beos_token['\"]?\s*[=:]\s*['\"](?P<token>[^'\"]{1,40})['\"]")
FEW_SCORES = 6
ALL_PENALISED = (
    "every reply is scored as one without its end: the score is the penalty for that in all "
    "entries, and what the reward model gives never counts, so that nothing is to be learnt"
)
OTHER_IDS = "; replies are cut at token {}, and the trainer looks for the tokenizer's eos, {}"
SAME_END = (
    "make the token that ends a reply the tokenizer's eos_token, and stop at that one "
    "(stop_token='eos', no stop_token_id), or switch the penalty off; print what one reply gets "
    "before and behind the penalty"
)
SEE_THE_END = (
    "see whether sampled replies hold the tokenizer's eos_token_id: where they end with another "
    "token, make that one the eos_token; where they are cut, allow longer replies "
    "(response_length) or switch the penalty off"
)
ALL_MASKED = (
    "every reply is cut at the limit, and replies that are cut are left out of the loss: no token "
    "is left in it, so that loss and gradient are exactly 0, however the rewards differ; adapter "
    "and optimizer are not to blame"
)
LET_THEM_END = (
    "a limit above what the replies need (a thinking model: several thousand tokens; read how many "
    "end within it), or shorter replies (thinking off, a prompt that asks for it); "
    "mask_truncated_completions=False gives a gradient again, of replies that are still cut"
)
UNLEARNT = ", and what counts as cut is left out of the loss"


def cut_and_masked(log: Log, beside: Beside) -> Finding | None:
    """What counts as cut is left out of the loss, and every reply counts as cut."""
    masked, series = beside.matching(_MASKED), log.series("truncated_share")
    cut = [entry for entry, share in series if share >= NEARLY_ALL]
    losses = [v for name in ("loss", "policy_loss", "grad_norm") for v in log.values(name)]
    if masked is None or not cut or len(cut) < NEARLY_ALL * len(series):
        return None
    if not losses or any(losses):
        return None
    limit = beside.printed("max_reply_length")
    proof = (
        f"{masked[0].where} says: {masked[1]}",
        f"{said(cut[0], 'truncated_share')} at {cut[0].where}, in {len(cut)} of {len(series)} "
        f"entries {NEARLY_ALL:g} or more",
        "loss and grad_norm are exactly 0 in all entries",
        *([limit.said] if limit else []),
    )
    return Finding("replies_masked", 9.0, cut[0], proof, why=ALL_MASKED, advice=LET_THEM_END)


def ended_by_another_token(log: Log, beside: Beside) -> Finding | None:
    """Replies that count as cut are all far shorter than the limit."""
    limit = beside.number("max_reply_length")
    both = [e for e in log.entries if {"truncated_share", "longest"} <= e.numbers.keys()]
    cut = [e for e in both if e.numbers["truncated_share"] >= NEARLY_ALL]
    if limit is None or len(both) < FEW or len(cut) < NEARLY_ALL * len(both):
        return None
    longest = max(entry.numbers["longest"] for entry in both)
    if not math.isfinite(longest) or longest >= NEAR * limit.number:
        return None
    if len({entry.numbers["longest"] for entry in both}) == 1:
        return None  # cut at another limit, which is not shown
    masked = next(iter(beside.all_matching(_MASKED)), None)
    why, advice = ANOTHER_END
    proof = (
        f"{said(cut[0], 'truncated_share')} at {cut[0].where}, {len(cut)} of {len(both)} entries "
        f"above {NEARLY_ALL:g}",
        f"the longest reply of all has {longest:.0f} tokens, and {limit.written} is "
        f"{limit.number:g}",
        *([f"{masked[0].where} says: {masked[1]}"] if masked else []),
    )
    why = why.format(UNLEARNT if masked else "")
    return Finding("stops_elsewhere", 7.5, cut[0], proof, why=why, advice=advice)


def all_penalised(log: Log, beside: Beside) -> Finding | None:
    """The score is one number in all entries, and that is the printed penalty for no end."""
    series = log.series("reward")
    penalty = _penalty(beside)
    if not penalty or len(series) < FEW_SCORES or {v for _, v in series} != {penalty[0]}:
        return None
    ends, cut = log.values("num_eos"), log.values("truncated_share")
    is_taken_off = "missing_eos" in penalty[1]  # and does not take the place of the score
    if is_taken_off and not (ends and max(ends) == 0) and not (cut and min(cut) >= NEARLY_ALL):
        return None
    entry = series[0][0]
    proof = [f"{said(entry, 'reward')} in all {len(series)} entries", penalty[1]]
    stop, eos = beside.matching(_STOP_ID), _eos(beside)
    ids = (_STOP_ID.search(stop[1])[1], eos[0]) if stop and eos else ("", "")
    is_other = ids[0] != ids[1]
    if stop and eos:
        proof += [f"{stop[0].where} says: {stop[1]}", eos[1]]
    why = ALL_PENALISED + (OTHER_IDS.format(*ids) if is_other else "")
    advice = SAME_END if is_other else SEE_THE_END
    return Finding("stops_elsewhere", 8.0, entry, tuple(proof), why=why, advice=advice)


def _penalty(beside: Beside) -> tuple[float, str] | None:
    """The score of a reply without its end, and the line that says so."""
    found = [(line, _PENALTY.search(words)) for line, words in beside.all_matching(_PENALTY)]
    line, one = next((pair for pair in found if pair[1]["value"]), found[0] if found else (0, 0))
    if not line:
        return None
    value = float(one["value"]) if one["value"] else DEFAULT_PENALTY
    value = -abs(value) if one["name"] == "missing_eos_penalty" else value
    return (value, f"{line.where} says: {one[0]}") if value else None


def _eos(beside: Beside) -> tuple[str, str] | None:
    """The id of the tokenizer's end, and the lines that tell it."""
    if found := beside.matching(_EOS_ID):
        return _EOS_ID.search(found[1])[1], f"{found[0].where} says: {found[1]}"
    if not (named := beside.matching(_EOS)):
        return None
    token = re.escape(_EOS.search(named[1])["token"])
    numbered = re.compile(
        rf"(?<![\w.])(\d+)['\"]?\W{{1,4}}?['\"]{token}['\"]|['\"]{token}['\"]\s*:\s*(\d+)"
    )
    if not (shown := beside.matching(numbered)):
        return None
    one = numbered.search(shown[1])
    told = f"{named[0].where} says: {named[1]}; {shown[0].where} says: {shown[1]}"
    return one[1] or one[2], told


RULES_OF_SETTINGS = (cut_and_masked, ended_by_another_token, all_penalised)
