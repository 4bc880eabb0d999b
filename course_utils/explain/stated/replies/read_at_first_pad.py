"""The places at which the scores of a batch are read, by hand or in code: one for all rows."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import PAD_IS_END

_ASKS = re.compile(
    r"\bsequence_lengths?\b|\blast_(?:non_pad_)?token|\b(?:eos|pool\w*|score)_(?:idx|ind\w*|pos\w*)\b",
    re.IGNORECASE,
)
_TENSOR = re.compile(r"^\W*(?:tensor\()?\[(?P<items>\d+(?:,\s*\d+){3,})\]")
_IN_CODE = re.compile(
    r"(?:==\s*[\w.]*(?:pad|eos)\w*|\b(?:eq|ne)\([^()]*(?:pad|eos)\w*)\W{0,3}"
    r"(?:\.(?:int|long|float|to|byte)\([^()]*\))*\.(?:argmax|max|nonzero)\("
)
_PAD_ID_IS_END = re.compile(
    r"\bpad_(?:id|tok\w*)\s*=\s*[\w.]*\beos\w*|\bpad\w*\s*(?:=|is)\s*eos\b", re.I
)
_SCORES = re.compile(
    r"\bchosen\w*\W{1,3}(?P<a>-?\d+\.\d{2,})\W+rejected\w*\W{1,3}(?P<b>-?\d+\.\d{2,})",
    re.IGNORECASE,
)
NEAR, SURE = 3, 9.4  # lines below; the places themselves
FEW, AT_LN_2 = 3, 1e-3  # entries; of a loss
FIRST_PAD = (
    "the score of each row is read in front of the first token that is the padding's, and that "
    "token is an end as well (pad = eos): it stands inside the row, behind {place}, so "
    "that chosen and rejected are judged by what they share, and get one score"
)
OWN_PAD = (
    "give tokenizer and model.config a padding token that no text has (a reserved one, or a new "
    "one with the table resized), or read the score at the last token that the attention mask "
    "counts; then train again"
)


def read_at_first_pad(beside: Beside, log: Log) -> Iterator[Finding]:
    """All rows are read at one place, beside pad = eos."""
    lines = beside.words
    same = beside.matching(PAD_IS_END) or beside.matching(_PAD_ID_IS_END)
    shown = _places(lines)
    if same and not shown:
        yield from _by_code(same, beside, log)
    if same is None or shown is None:
        return
    asked, below, place = shown
    proof = (
        f"{same[0].where} says: {same[1]}",
        f"{below.where} answers {below.text.strip()[:80]} to {asked.text.strip()[:MAX_QUOTE]}",
    )
    why = FIRST_PAD.format(place=f"token {place} in all rows that are shown")
    yield Finding("rows_pooled_wrong", SURE, below, proof, why=why, advice=OWN_PAD)


def _by_code(same: tuple[Line, str], beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that reads in front of the first padding, and pairs whose two scores are equal."""
    code, equal = beside.matching(_IN_CODE), _equal_scores(log)
    if code is None or not equal:
        return
    proof = (f"{same[0].where} says: {same[1]}", code[0].says, equal)
    why = FIRST_PAD.format(place="its first turn")
    yield Finding("rows_pooled_wrong", 9.0, code[0], proof, why=why, advice=OWN_PAD)


def _equal_scores(log: Log) -> str:
    """That both replies of each pair have one score; "" if they have not."""
    pairs = [(e, m) for e in log.entries if (m := _SCORES.search(e.text))]
    if len(pairs) >= FEW and all(m["a"] == m["b"] for _, m in pairs):
        return f"{pairs[0][0].where}: {pairs[0][1][0]}, equal in all {len(pairs)} entries"
    losses = [value for value in log.values("loss") if math.isfinite(value)]
    if len(losses) < FEW or max(abs(loss - math.log(2)) for loss in losses) > AT_LN_2:
        return ""
    return f"the loss is ln 2 in all {len(losses)} entries, that of two equal scores"


def _places(lines: list[Line]) -> tuple[Line, Line, int] | None:
    """The question, its answer, and the one place in all of it."""
    for number, line in enumerate(lines):
        if not _ASKS.search(line.text):
            continue
        answers = [
            (below, set(map(int, found["items"].split(","))))
            for below in lines[number + 1 : number + 1 + NEAR]
            if (found := _TENSOR.match(below.text))
        ]
        places = set().union(*(some for _, some in answers)) if answers else set()
        if len(places) == 1:
            return line, answers[0][0], places.pop()
    return None
