"""Rows of the evaluation that were trained on, as somebody has counted them."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log

_HELD = r"(?:test|eval\w*|val\w*|dev|bench\w*|held[-_ ]?out)"
_ROWS = r"(?:rows?|questions?|problems?|prompts?|examples?|samples?|items?|texts?|ids?|images?)"
_ASKED = re.compile(
    rf"^(?=.*train)(?=.*\b\w*{_HELD})(?:.*\blen\(.*(?:&|\.intersection\()|.*\.isin\(.*\.(?:sum|mean)\()",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"^\W*(?:np\.\w+\()?(?P<n>\d[\d_]*(?:\.\d+)?)\)?\W*$")
_SAID = re.compile(
    rf"(?<![\d.,])(?P<n>\d[\d,]*) ?(?:of|/|out of) ?(?:the |our |all )*(?P<of>\d[\d,]*) "
    rf"(?:\w+ ){{0,2}}?{_HELD}(?: {_ROWS})?\b(?! not\b)[^.;]{{0,50}}?\b(?:in|among|from)\b"
    r"[^.;]{0,30}?\btrain",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:removed|dropped|filtered|dedup\w*|excluded|decontaminat\w*)\b", re.IGNORECASE
)
SHARE, FEW, SURE, LIKELY = 0.05, 5, 9.0, 7.2  # of the rows; rows; weights
COUNTED = (
    "rows of the evaluation are among those that are trained on: {shown}. Its numbers are in part "
    "those of rows that are known, and say little of new ones"
)


def counted_in_both(beside: Beside, log: Log) -> Iterator[Finding]:
    """A count of rows in both sets that is not small."""
    if beside.matching(_AFTER):
        return
    for line in beside.words:
        if (found := _SAID.search(line.text)) is None:
            continue
        number, whole = (plain_number(found[name]) for name in ("n", "of"))
        if whole >= number >= SHARE * whole:
            said = line.says
            why = COUNTED.format(shown=f"{number:g} of {whole:g}")
            yield Finding("rows_in_both", SURE, line, (said,), why=why)
            return
    yield from _of_a_prompt(beside, log)


def _of_a_prompt(beside: Beside, log: Log) -> Iterator[Finding]:
    """What a prompt has answered to the question for rows that both sets have."""
    parts: list[Line | Entry] = beside.words
    parts = sorted([*parts, *log.entries], key=place)
    for line, below in pairwise(parts):
        answer = _ANSWER.match(below.text) if _ASKED.search(line.text) else None
        number = float(answer["n"]) if answer else 0.0
        if number >= FEW or SHARE <= number < 1:
            said = f"{below.where} says {answer['n']} to {line.text.strip()[:MAX_QUOTE]}"
            why = COUNTED.format(shown=f"{answer['n']} were counted")
            yield Finding("rows_in_both", LIKELY, line, (said,), why=why)
            return
