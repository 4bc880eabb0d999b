"""Fewer rows than there were, where several are packed into one: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import trend

_ON = re.compile(
    r"\b(?:sample_)?packing['\"]?\s*[:=]\s*['\"]?true\b|\bPacking\b.{0,40}dataset", re.I
)
_COUNT = r"\D{0,24}?[:=]\s*(?P<n>\d[\d,]*)\b(?!\.)"
_ROWS = re.compile(rf"\bNum examples{_COUNT}")
_RAW = re.compile(
    rf"\b(?:raw|original|loaded|unpacked)\b[^:=\n]{{0,24}}?(?:samples|examples|rows){_COUNT}", re.I
)
_TOTAL = re.compile(
    r"\btoken\w*\b[^=\n]{0,40}?\btotal['\"]?\s*[:=]\s*(?P<n>\d[\d,]*)|"
    r"\btotal[_ ](?:num[_ ])?tokens['\"]?\s*[:=]\s*(?P<m>\d[\d,]*)",
    re.IGNORECASE,
)
_KEPT_APART = re.compile(
    r"flash[_-]?att\w*|\bvarlen\b|padding_free['\"]?\s*[:=]\s*['\"]?true|cu_seqlens", re.IGNORECASE
)
FULL, ALIKE = 0.85, 0.02  # of the rows' tokens; of a number of tokens


def rows_packed(log: Log, beside: Beside) -> Finding | None:
    """The tokens before packing fill the packed rows, and an epoch has as many."""
    on, rows, raw = (beside.matching(pattern) for pattern in (_ON, _ROWS, _RAW))
    total, limit = beside.matching(_TOTAL), beside.number("max_length")
    if not beside.matching(_KEPT_APART) or not _learns(log):
        return None  # rows that see each other are no less packed
    if not all((on, rows, raw, total)) or limit is None or not limit.number:
        return None
    packed, before, tokens = (
        _number(p, m) for p, m in ((_ROWS, rows), (_RAW, raw), (_TOTAL, total))
    )
    room = packed * limit.number
    if not packed < before or not FULL * room <= tokens <= room:
        return None
    epoch = _of_an_epoch(log)
    if epoch and abs(epoch - tokens) > ALIKE * tokens:
        return None
    proof = [
        f"{before} rows ({raw[0].where}) have {tokens} tokens ({total[0].where}); {packed} packed "
        f"rows ({rows[0].where}) of {limit.number:g} hold {room:.0f}: they are full, and all fits",
        f"{on[0].where} says: {on[1].strip()[:MAX_QUOTE]}",
    ]
    if epoch:
        proof.append(f"an epoch has trained on {epoch:.0f} tokens, by the count of the log")
    return Finding("rows_packed", 3.2, rows[0], tuple(proof))


def _learns(log: Log) -> bool:
    """Whether the loss falls, and the evaluation does not end above its start."""
    levels, judged = trend(log.values("loss")), finite(log.values("eval_loss"))
    return levels is not None and levels[2] < levels[0] and judged[-1:] <= judged[:1]


def _number(pattern: re.Pattern, found: tuple[Line, str]) -> int:
    matched = pattern.search(found[1])
    return int(next(filter(None, matched.groups())).replace(",", ""))


def _of_an_epoch(log: Log) -> float:
    """The tokens counted at the last entry over its epochs; 0 if none are counted."""
    both = [e for e in log.entries if e.numbers.get("epoch", 0) >= 1 and "tokens" in e.numbers]
    values = finite(e.numbers["tokens"] / e.numbers["epoch"] for e in both[-1:])
    return values[0] if values else 0.0


RULES_OF_SETTINGS = (rows_packed,)
