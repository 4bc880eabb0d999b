"""The places at which the scores of a batch are read, shown by hand: one place for all rows."""

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
NEAR, SURE = 3, 9.4  # lines below; the places themselves
FIRST_PAD = (
    "the score of each row is read in front of the first token that is the padding's, and that "
    "token is an end as well (pad = eos): it stands inside the row, behind {place} in all rows "
    "that are shown, so that chosen and rejected are judged by what they share, and get one score"
)
OWN_PAD = (
    "give tokenizer and model.config a padding token that no text has (a reserved one, or a new "
    "one with the table resized), or read the score at the last token that the attention mask "
    "counts; then train again"
)


def read_at_first_pad(beside: Beside, log: Log) -> Iterator[Finding]:
    """All rows are read at one place, beside pad = eos."""
    lines = beside.words
    same = beside.matching(PAD_IS_END)
    shown = _places(lines)
    if same is None or shown is None:
        return
    asked, below, place = shown
    proof = (
        f"{same[0].where} says: {same[1]}",
        f"{below.where} answers {below.text.strip()[:80]} to {asked.text.strip()[:MAX_QUOTE]}",
    )
    why = FIRST_PAD.format(place=f"token {place}")
    yield Finding("rows_pooled_wrong", SURE, below, proof, why=why, advice=OWN_PAD)


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
