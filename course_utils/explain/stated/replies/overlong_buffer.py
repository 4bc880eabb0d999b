"""A penalty for overlong replies whose buffer is as long as the limit: it reaches every token."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, trend
from course_utils.explain.paste.sentences import is_prose

_NUMBER = r"['\"]?(?:\$\(\(\s*)?(?P<value>\d[\d_]*(?:\s*\*\s*\d[\d_]*)*)(?![\w.])"
_IS = r"['\"]?(?:\s*[:=]\s*|\s+)"
_BUFFER = re.compile(
    r"\b(?:overlong_buffer(?:[._](?:cfg[._])?len(?:gth)?|_size)|overlong[-_]buffer[-_]len(?:gth)?|"
    rf"soft_cache_length|soft_punish_cache|overlong_cache(?:_len(?:gth)?)?){_IS}{_NUMBER}"
)
_HEAD = re.compile(r"^\s*['\"]?overlong_buffer(?:_cfg)?['\"]?\s*:\s*\{?\s*$")
_LENGTH_BELOW = re.compile(rf"^\s*['\"]?len(?:gth)?{_IS}{_NUMBER}")
_LIMIT = re.compile(
    r"\b(?:max_resp(?:onse)?_len(?:gth)?|max_completion_len(?:gth)?|soft_max_length|"
    rf"rollout[-_]max[-_]response[-_]len|max_new_tokens|generate_max_len){_IS}{_NUMBER}"
)
_OFF = re.compile(
    r"overlong_?buffer(?:_?cfg)?[._]?(?:enabled?)?['\"]?\s*[:=]\s*['\"]?(?:false|none|null)\b|"
    r"\benabled?_overlong_buffer['\"]?\s*[:=]\s*['\"]?false|"
    r"\b(?:overlong_)?penalty_factor['\"]?\s*[:=]\s*0(?:\.0*)?(?![\d.])",
    re.IGNORECASE,
)
NEARLY, BELOW, SHRUNK, ALL = 0.9, 4, 0.7, 0.9  # of the limit; lines; of the first third; a share
REACHES = (
    "the penalty for overlong replies is spread over {buffer} tokens and the limit is {limit}: it "
    "begins at token {start}, so that {which} tokens of a reply cost something, and a reply earns "
    "more by being short than by being right. Few cut replies are no sign against it"
)
SHORTER = (
    "a buffer that is a small part of the limit ({part} of {limit}), so that only the last tokens "
    "before it are penalised, or no such penalty (replies that are cut earn nothing anyway); go "
    "back to weights from before the replies shrank"
)


def penalised_from_the_start(beside: Beside, log: Log) -> Iterator[Finding]:
    """The last buffer that is set is as long as the last limit of a reply."""
    buffer, limit = _last(beside, _BUFFER) or _nested(beside), _last(beside, _LIMIT)
    if buffer is None or limit is None or beside.matching(_OFF) or limit[1] <= 0:
        return
    if buffer[1] < NEARLY * limit[1]:
        return
    start = max(0, limit[1] - buffer[1])
    proof = [line.says for line, _ in (buffer, limit)]
    shown = [*_all_penalised(log), *_shrinks(log)]
    why = REACHES.format(
        buffer=buffer[1], limit=limit[1], start=start, which="nearly all" if start else "all"
    )
    advice = SHORTER.format(part=max(1, limit[1] // 8), limit=limit[1])
    against = () if shown else ("no length or penalty of the replies is read beside it",)
    key, weight = "length_penalised_throughout", 9.2 if shown else 6.5
    yield Finding(key, weight, buffer[0], (*proof, *shown), against, why=why, advice=advice)


def _last(beside: Beside, pattern: re.Pattern) -> tuple[Line, int] | None:
    """The last such number outside of sentences: a variable's name in its place is passed over."""
    found = [
        (line, _product(one["value"]))
        for line in beside.words
        if not is_prose(line.text)
        for one in pattern.finditer(line.text)
    ]
    return found[-1] if found else None


def _nested(beside: Beside) -> tuple[Line, int] | None:
    """The length below the head of a block of settings."""
    lines = beside.words
    for number, line in enumerate(lines):
        for below in lines[number + 1 : number + 1 + BELOW] if _HEAD.match(line.text) else ():
            if found := _LENGTH_BELOW.match(below.text):
                return below, _product(found["value"])
    return None


def _product(text: str) -> int:
    """
    >>> _product("1024 * 4"), _product("20_480")
    (4096, 20480)
    """
    return math.prod(int(one.strip().replace("_", "")) for one in text.split("*"))


def _all_penalised(log: Log) -> list[str]:
    """That nearly all replies are penalised, in each entry."""
    shares = finite(log.values("overlong_share"))
    if not shares or min(shares) < ALL:
        return []
    entry = log.series("overlong_share")[0][0]
    return [f"{said(entry, 'overlong_share')} at {entry.where}, no less in {len(shares)} entries"]


def _shrinks(log: Log) -> list[str]:
    levels = trend(log.values("length"))
    if levels is None or levels[2] > SHRUNK * levels[0]:
        return []
    return [f"replies shrink: {listed(levels)} tokens by thirds of the log"]
