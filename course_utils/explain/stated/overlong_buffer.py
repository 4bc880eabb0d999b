"""A soft penalty of long replies whose buffer is as long as the limit, so that all pay it."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds

_NUMBER = r"['\"]?\s*[=:]\s*['\"]?(?P<n>\$?\(*\s*\d+(?:\s*\*\s*\d+)*)(?![\d.]*\w)"
_BUFFER = re.compile(
    r"\b(?:overlong_buffer(?:_len|\.len|_length)|overlong_buffer_cfg\.len|soft_punish_cache|"
    rf"soft_cache_length){_NUMBER}"
)
_LIMIT = re.compile(
    r"(?<![a-z_])(?:max_response_length|max_completion_length|max_completion_len|soft_max_length|"
    rf"max_resp_len){_NUMBER}"
)
_NOT_USED = re.compile(
    r"\b(?:enable_overlong_buffer|overlong_buffer(?:_cfg)?[._]enable)['\"]?\s*[=:]\s*['\"]?"
    r"(?:false|0)\b|\boverlong_(?:buffer[._])?penalty_factor['\"]?\s*[=:]\s*0(?:\.0+)?(?![.\d])",
    re.IGNORECASE,
)
SHORTER = 0.8  # of the first third
ALL_PAY = (
    "every reply pays the penalty for long ones: it begins at {limit:g} - {buffer:g} = {begin:g} "
    "tokens (the limit of a reply less the buffer), so that each token costs reward, also in the "
    "shortest reply. Where all replies of a group are right, or all wrong, that is the only "
    "difference between them"
)
LEARNT = ", and the policy learns to write less, at the cost of its reasoning"
SMALLER = (
    "a buffer well below the limit (a quarter of it or less: {few:g} for {limit:g}), or no penalty "
    "for length; then the reward of a right reply is whole again. Begin again from the model as "
    "it was"
)


def all_are_overlong(beside: Beside, log: Log) -> Iterator[Finding]:
    """A buffer that is not smaller than the limit it is taken from."""
    buffer, limit = _last(beside, _BUFFER), _last(beside, _LIMIT)
    if buffer is None or limit is None or beside.matching(_NOT_USED):
        return
    (line, long), (other, most) = buffer, limit
    if long < most or not most:
        return
    proof = [f"{one.where} says: {one.text.strip()[:MAX_QUOTE]}" for one in (line, other)]
    lengths = thirds(log.values("length"))
    is_learnt = bool(lengths) and lengths[2] < SHORTER * lengths[0]
    if is_learnt:
        proof.append(f"the replies get shorter: {listed(lengths)} tokens by thirds of the log")
    why = ALL_PAY.format(limit=most, buffer=long, begin=most - long)
    advice = SMALLER.format(few=most // 4, limit=most)
    why, weight = (why + LEARNT, 9.0) if is_learnt else (why, 7.6)
    yield Finding("answer_outweighed", weight, line, tuple(proof), why=why, advice=advice)


def _last(beside: Beside, pattern: re.Pattern) -> tuple[Line, int] | None:
    """The last line that sets such a number, which may be written as a product."""
    found = [(line, m) for _, line in beside.lines if (m := pattern.search(line.text))]
    if not found:
        return None
    line, matched = found[-1]
    return line, math.prod(map(int, re.findall(r"\d+", matched["n"])))
