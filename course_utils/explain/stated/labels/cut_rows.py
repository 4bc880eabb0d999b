"""Rows that a limit of the length cuts before the reply begins, as lengths beside it show."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.quantiles import counted

_NO_LABEL = re.compile(
    r"masked every label to -100|(?:all|every) (?:the )?labels? (?:are|is|in .{0,30}are) -100|"
    r"no (?:valid )?labels? (?:left|remain)",
    re.IGNORECASE,
)
_ASKS_LENGTHS = re.compile(
    r"^(?=.*\bmin\()(?=.*\bmax\()(?=.*(?:input_ids|\blen\w*|\b[lL]\b))", re.IGNORECASE
)
_REMOVED = re.compile(
    r"[Rr]emoved (\d[\d,]*) out of (\d[\d,]*) (?:samples|rows|examples).{0,40}labels were -100"
)
_ASKS_QUANTILES = re.compile(r"\b(?:quantile|percentile|describe)\b")
_LIST = re.compile(r"\[([\d., ]+)\]")
SOME = 0.1  # of the rows
REMOVED = (
    "replies are cut away: {gone:,.0f} of {whole:,.0f} rows had no label left and were "
    "dropped, since the rows are cut at {limit} tokens from the right, and half of them have "
    "{middle:,.0f} or more; the reply stands behind the long prompt. What is left "
    "to train on are the short rows"
)
_ANSWER = re.compile(r"^\W*(?:np\.\w+\()?(\d[\d,. ()a-z]*\d|\d+)\W*$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IN_FRONT = re.compile(
    r"\b(?:in front of|before|ahead of|up to|until)\b.{0,25}\b(?:answer|reply|response|completion|"
    r"assistant)\b|\bprompt\w*[_ ](?:len\w*|tok\w*)|\b(?:n|num|len)_(?:before|prompt)\w*",
    re.IGNORECASE,
)
_PACKS = re.compile(r"\bpacking['\"]?\s*[=:]\s*['\"]?true|\bpacked\b", re.IGNORECASE)
CUT = (
    "each row is cut before its reply begins: all rows are exactly {} tokens long, which is a limit"
    "{}. So no label is left"
)
BEHIND = ", and the first reply begins behind {} tokens at the earliest"
NOT_THE_MARKS = ", and what marks the replies is not to blame, whatever the message guesses"
LONGER = (
    "a limit of the length that holds prompt and reply, where the model is loaded and in the "
    "trainer; or shorter prompts (descriptions of tools), or drop rows that are longer; then count "
    "the labels that are not -100"
)


def removed_without_label(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows that were dropped since no label was left in them, and a limit below their lengths."""
    limit, removed = beside.printed("max_length"), beside.matching(_REMOVED)
    if limit is None or not limit.number or removed is None:
        return
    gone, whole = map(plain_number, _REMOVED.search(removed[1]).groups())
    longer = next(_mostly_longer(beside.words, limit.number), None)
    if longer is None or not whole or gone < SOME * whole:
        return
    line, middle = longer
    why = REMOVED.format(gone=gone, whole=whole, limit=limit.value, middle=middle)
    proof = (removed[0].says, limit.said, line.says)
    yield Finding("labels_masked", 9.0, removed[0], proof, why=why, advice=LONGER)


def _mostly_longer(lines: list[Line], limit: float) -> Iterator[tuple[Line, float]]:
    """Numbers of tokens as they were asked for, whose middle one is above the limit."""
    for asked, line in pairwise(lines):
        if not (_ASKS_QUANTILES.search(asked.text) and _LIST.search(line.text)):
            continue
        numbers = [float(one) for one in _NUMBER.findall(_LIST.search(line.text)[1])]
        middle = numbers[len(numbers) // 2]
        if len(numbers) > 2 and numbers == sorted(numbers) and middle > limit:
            yield line, middle
    for one in counted(lines):
        for name, value in one.low():
            if name in ("p50", "median") and value > limit:
                yield one.line, value


def cut_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows without a label that are all as long as the limit."""
    if masked := beside.matching(_NO_LABEL):
        yield from _without_label(masked, beside.words)


def _without_label(masked: tuple[Line, str], lines: list[Line]) -> Iterator[Finding]:
    lengths = front = None
    for asked, below in pairwise(lines):
        numbers = _answered(below)
        if len(numbers) < 2:
            continue
        if _ASKS_LENGTHS.search(asked.text) and len(set(numbers)) == 1:
            lengths = lengths or (below, numbers[0])
        else:
            front = front or (asked, below, min(numbers))
    if lengths is None:
        return
    at, limit = lengths
    told = [f"{masked[0].where} says: {masked[1]}", f"{at.where}: all rows have {limit:g} tokens"]
    is_behind = front and front[2] >= limit and _speaks_of_it(front[0], lines)
    if is_behind:
        told.append(f"{front[1].where} answers {front[1].text.strip()[:MAX_QUOTE]}")
    elif any(_PACKS.search(line.text) for line in lines):
        return  # rows that are packed are all of one length
    why = CUT.format(f"{limit:g}", BEHIND.format(f"{front[2]:g}") if is_behind else "")
    why += NOT_THE_MARKS if is_behind else ""
    weight = 9.2 if is_behind else 7.0
    yield Finding("labels_masked", weight, at, tuple(told), why=why, advice=LONGER)


def _speaks_of_it(asked: Line, lines: list[Line]) -> bool:
    """Whether a question, or the line that made what it asks for, is about what precedes a
    reply."""
    number = next(n for n, line in enumerate(lines) if line is asked)
    return any(_IN_FRONT.search(line.text) for line in lines[max(0, number - 1) : number + 1])


def _answered(line: Line) -> list[float]:
    """The numbers of a line that holds nothing else.

    >>> _answered(Line("line 1", "(2633, 4402.0, 17911)")), _answered(Line("line 2", "from 3 on"))
    ([2633.0, 4402.0, 17911.0], [])
    """
    found = _ANSWER.match(line.text)
    return [float(one) for one in _NUMBER.findall(found[1])] if found else []
