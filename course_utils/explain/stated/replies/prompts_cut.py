"""Prompts that are longer than the limit of prompts, so that the policy sees a part of each."""

import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log

_LIMIT = re.compile(
    r"\b(?P<name>max_prompt_length|prompt_max_len|max_prompt_len|rollout_max_prompt_len)['\"]?"
    r"(?:\s*[=:]\s*|\s+)(?P<n>\d[\d_]*|None)\b"
)
_OF_TRL = re.compile(r"\b(?:GRPO|RLOO|OnlineDPO)(?:Config|Trainer)\b")
_OF_VERL = re.compile(r"\bactor_rollout_ref\b|\bdata\.(?:train_|max_)\w+|\bverl\b")
_CUTS = re.compile(r"\btruncation['\"]?\s*[=:]\s*['\"]?(?P<side>left|right|middle)\b")
_DROPS = re.compile(r"\.filter\(|\bfilter_overlong\w*|\bdropped\b|\bfiltered\b", re.IGNORECASE)
_OF_OPENRLHF = re.compile(r"\bprompt_max_len\b|\bopenrlhf\b", re.IGNORECASE)
_SHAPE = re.compile(
    r"\bprompt\w*\W.{0,80}?\bSize\(\[\s*\d+,\s*(?P<n>\d+)\s*\]\)|"
    r"\bprompt\w*\W.{0,60}?\(\s*\d+,\s*(?P<m>\d+)\s*\)"
)
_PROMPT = re.compile(
    r"\bprompts?\b|\bprompt_(?:len\w*|tokens)\b|\binput(?:s| rows)?\b", re.IGNORECASE
)
_COUNT = re.compile(
    r"(?P<before>\b(?:mean|avg|average|median|p50|min(?:imum)?|shortest|at least|all)\b"
    r"[^\d\n]{0,20})?"
    r"(?<![\w.-])(?P<n>\d{1,3}(?:,\d{3})+|\d{3,6})(?P<tokens>\s+tok(?:en)?s?\b)?",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"\b(?:max(?:imum)?|longest|p9\d|up to|at most|below|under|less than|fewer|limit\w*)\b"
    r"\W*(?:\w+\W+){0,2}$",
    re.I,
)
_LENGTHS = re.compile(r"\btok(?:en)?s?\b|\blen\w*\b", re.IGNORECASE)
_PROMPT_COLUMN = re.compile(
    r"^(?:\w+[/.])*prompts?[_/](?:len(?:gth)?s?|tokens)(?:[/_](?:mean|min|avg))?$"
)
_TOTAL, _REPLY = (
    re.compile(rf"^(?:\w+[/.])*{name}_len(?:gth)?s?(?:[/_]mean)?$")
    for name in ("total", "(?:response|completion|reply)")
)
BY_DEFAULT = 512  # of TRL, where nothing is set
FEW, NEAR, ROUNDED, MUCH = 3, 0.003, 0.01, 1.1  # rows; of the limit, twice; times the limit
BOTH, SEEN, TOLD = 9.0, 8.2, 7.4
CUT = (
    "the prompts are longer than the limit of {limit} tokens for prompts ({set}) and are cut: "
    "{side}. So the policy answers without a part of what it is told, and the reward stays low "
    "whatever is learnt"
)
LAST_KEPT = "only the last {limit} tokens of each are kept, and what stands first (most often the "
LAST_KEPT += "system prompt) is gone"
FIRST_KEPT = "only the first {limit} tokens of each are kept, and what stands last (the question, "
FIRST_KEPT += "the head of the assistant's turn) is gone"
A_PART = "a part of each is gone"
IS_DEFAULT = "max_prompt_length is not set, and TRL's default is 512"
LONGER = (
    "set {name} above the longest prompt in tokens (with its template), or drop the rows that are "
    "longer (count them first), and print one prompt that is decoded from the ids of the batch: it "
    "must begin with its first word and end with the assistant's head"
)


def prompts_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """A limit of prompts that each prompt fills, or that prompts are said to be longer than."""
    found = _limit(beside)
    if found is None:
        return
    name, limit, setting = found
    filled, told = _filled(beside, log, limit), _longer(beside, limit)
    shaped = _shape(beside, limit)
    if setting is None and not (told and shaped):
        return
    is_seen = bool(filled or shaped)
    if not filled and (not told or (beside.matching(_DROPS) and not is_seen)):
        return
    proof = (*([setting.says] if setting else [IS_DEFAULT]), *told, *shaped, *filled)
    side = _side(beside).format(limit=f"{limit:g}")
    said = f"{name} {limit:g}" if setting else IS_DEFAULT
    weight = BOTH if told and is_seen else SEEN if filled else TOLD
    why = CUT.format(limit=f"{limit:g}", set=said, side=side)
    at = setting or next(line for line in beside.words if line.says in told)
    yield Finding("too_long", weight, at, proof, why=why, advice=LONGER.format(name=name))


def _limit(beside: Beside) -> tuple[str, float, Line | None] | None:
    """The name of the limit, its value, and the line that sets it; None where nothing is cut."""
    found = beside.first(_LIMIT)
    if _OF_VERL.search(" ".join(line.text for line in beside.words)) and not beside.matching(_CUTS):
        return None  # which refuses or filters such rows by default
    if found is None:
        is_trl = beside.matching(_OF_TRL)
        return ("max_prompt_length", BY_DEFAULT, None) if is_trl else None
    if found[1]["n"] == "None":
        return None
    return found[1]["name"], plain_number(found[1]["n"]), found[0]


def _side(beside: Beside) -> str:
    cuts = beside.first(_CUTS)
    if cuts:
        side = cuts[1]["side"]
        return {"left": LAST_KEPT, "right": FIRST_KEPT}.get(side, A_PART)
    if beside.matching(_OF_OPENRLHF):
        return FIRST_KEPT
    return LAST_KEPT if beside.matching(_OF_TRL) else A_PART


def _filled(beside: Beside, log: Log, limit: float) -> list[str]:
    """That all rows have prompts of just as many tokens as the limit."""
    lengths: list[tuple[Line | Entry, float]] = []
    for row in rows_of(beside, log):
        direct, total, reply = (row.first(one) for one in (_PROMPT_COLUMN, _TOTAL, _REPLY))
        if direct:
            lengths.append((row.at, direct[1]))
        elif total and reply:
            lengths.append((row.at, total[1] - reply[1]))
    apart = [n - limit for _, n in lengths]
    if len(lengths) < FEW or max(map(abs, apart)) > ROUNDED * limit:
        return []
    if abs(fmean(apart)) > NEAR * limit:
        return []
    at = lengths[0][0].where
    return [f"prompts have {limit:g} tokens in all {len(lengths)} rows, from {at} on"]


def _longer(beside: Beside, limit: float) -> list[str]:
    """A line that says how many tokens prompts have, and that is more than the limit."""
    for line in beside.words:
        if not _PROMPT.search(line.text) or not _LENGTHS.search(line.text):
            continue
        for found in _COUNT.finditer(line.text):
            if not (found["before"] or found["tokens"]):
                continue
            before = line.text[max(0, found.start("n") - 30) : found.start("n")]
            if not _AT_MOST.search(before) and plain_number(found["n"]) > MUCH * limit:
                return [line.says]
    return []


def _shape(beside: Beside, limit: float) -> list[str]:
    for line in beside.words:
        found = _SHAPE.search(line.text)
        if found and float(found["n"] or found["m"]) == limit:
            return [line.says]
    return []
