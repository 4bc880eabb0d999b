"""Rows that are laid end to end by code which keeps nothing of where each begins."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_JOINS = re.compile(
    r"\b(?P<row>\w*(?:buf|row|chunk|pack)\w*)\s*=\s*(?P=row)\s*\+\s*\w*(?:ids|tokens)\b|"
    r"\b\w+\s*\+=\s*(?:list\()?\w+(?:\[['\"]|\.)input_ids|"
    r"\.extend\(\w+(?:\[['\"]|\.)input_ids|"
    r"\b(?:torch\.cat|np\.concatenate|sum|chain(?:\.from_iterable)?)\(.*\binput_ids\b"
)
_ONES = re.compile(
    r"attention_mask['\"]?\s*:\s*\[\[int\(t != |"
    r"attention_mask['\"]?\]?\s*[:=]\s*"
    r"(?:torch\.ones|np\.ones|torch\.ones_like|\[\s*1\s*\]\s*\*)"
)
_KEEPS = re.compile(
    r"position_ids(?!.*\b0, 1, 2, \.\.\., \d{4})|cu_seq_?lens|\bvarlen\b|block_?diag|seq_idx|"
    r"segment_ids|padding_free|flex_attention|document_ids?|sample_ids",
    re.IGNORECASE,
)
_ATTENTION = re.compile(r"\b(?:attn_implementation|_attn_implementation)\W{1,4}(?:sdpa|eager)\b")
_SAYS_SO = re.compile(r"pack(?!age|et)(?!\w*['\"]?\s*[:=]\s*['\"]?(?:false|none|0))", re.IGNORECASE)
_ROW = re.compile(r"^\W*(?P<who>[\w/ -]*?[\w])\s+(?P<values>\d+\.\d+(?:\s+\d+\.\d+){3,})\s*$")
_PACKED = re.compile(r"\bpack", re.IGNORECASE)
_ALONE = re.compile(r"1\s*/\s*row|alone|unpacked|single|one (?:per|a) row|no pack|padded", re.I)
_MOVED = re.compile(
    r"\bpacked\b\D*?(?P<packed>\d+\.\d+).*?(?:1\s*/\s*row|alone|unpacked)\b\D*?(?P<alone>\d+\.\d+)",
    re.IGNORECASE,
)
_OTHER_LOGITS = re.compile(r"\.abs\(\)\.max\(\)\s*(?:->|=>|:|=)\s*(\d+\.\d+)")
MOVES = 0.1  # of logits, far above rounding
RISES, FLAT = 1.02, 0.01  # times the first place; of it
LEAKS = (
    "rows that are packed into one see each other: the code lays them end to end under a mask of "
    "ones and gives no position_ids and no boundaries, so that each text is read with all that "
    "stand before it in its row as its context"
)
KEEP_APART = (
    "position_ids that start again with each text, with an attention that takes its boundaries "
    "from them (flash attention's varlen, cu_seqlens) or a block-diagonal mask, and -100 at the "
    "first label of each; see that the loss of a text is the same alone and packed; train again"
)


def packed_without_bounds(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that joins rows under a mask of ones, and losses that depend on what stands before."""
    joins, ones = beside.matching(_JOINS), beside.matching(_ONES)
    if (
        joins is None
        or ones is None
        or beside.matching(_KEEPS)
        or log.kind() in ("policy", "preference")
    ):
        return
    attention = beside.matching(_ATTENTION)
    measured = [*_by_place(beside), *_swapped(beside), *_changed(beside)]
    if not measured and (attention is None or not beside.matching(_SAYS_SO)):
        return  # a prompt and its reply are joined as well
    proof = [one[0].says for one in (joins, ones)]
    proof += [f"{attention[0].where} says: {attention[1]}"] if attention else []
    weight = 9.0 if measured else 6.5
    proof += measured
    yield Finding("packing_leak", weight, ones[0], tuple(proof), why=LEAKS, advice=KEEP_APART)


def _by_place(beside: Beside) -> Iterator[str]:
    """Two rows of losses by the place in a row: packed they rise, and alone they do not."""
    rows = [(line, found) for line in beside.words if (found := _ROW.match(line.text))]
    packed = next((one for one in rows if _PACKED.search(_head(one))), None)
    alone = next((one for one in rows if _ALONE.search(_head(one))), None)
    if packed is None or alone is None or packed is alone:
        return
    (line, mine), (other, theirs) = packed, alone
    rising, flat = (list(map(float, one["values"].split())) for one in (mine, theirs))
    is_flat = max(abs(value - flat[0]) for value in flat) <= FLAT * flat[0]
    if len(rising) == len(flat) and is_flat and rising[-1] > RISES * rising[0]:
        yield (
            f"{line.where}: packed, the loss rises from {rising[0]:g} at the first place of a row "
            f"to {rising[-1]:g} at the last; alone ({other.where}) it is {flat[0]:g} and "
            f"{flat[-1]:g}"
        )


def _changed(beside: Beside) -> Iterator[str]:
    """That the logits of a text change with another text of its row."""
    for line in beside.words:
        found = _OTHER_LOGITS.search(line.text)
        if found and float(found[1]) > MOVES:
            yield f"{line.where} says: {line.text.strip()}: one text of a row sees another"
            return


def _head(row: tuple[Line, re.Match]) -> str:
    return row[1]["who"]


def _swapped(beside: Beside) -> Iterator[str]:
    """That a text's loss moves with what stands before it, packed alone."""
    for line in beside.words:
        found = _MOVED.search(line.text)
        if found and "d" in line.text and float(found["packed"]) > 0 == float(found["alone"]):
            yield f"{line.where} says: {' '.join(line.text.split())[:MAX_QUOTE]}"
            return
