"""An evaluation by several processes that all judge the same part of the rows."""

import re
from collections import defaultdict
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.rows.every_rank import OTHER_PARALLEL

_RANK = re.compile(
    r"^\W*(?:(?:global[ _])?rank|process|proc|worker|gpu|shard)?[ _:=]*(?P<rank>\d+)\b(?:/\d+)?"
    r"[\]):]*\W?",
    re.I,
)
_NAMED = re.compile(r"^\W*(?:\w*rank|process|proc|worker|gpu|shard)\b|^\[\w*\d+\]", re.IGNORECASE)
_SHOWS_ROW = re.compile(
    r"\b(?:first|1st|starts? (?:with|at)|begins? with|sample|example|row|head)\b.*"
    r"(?:['\"][^'\"]{8,}|\[\s*\w+(?:\s*,\s*\w+){2,})",
    re.IGNORECASE,
)
_RIGHT = re.compile(r"(?<![\d.])(?P<right>\d+) ?(?:/|of|out of) ?(?P<of>\d+)(?![\d.]|/)")
_ROWS = re.compile(
    r"\b(?:rows|samples|examples|questions|problems|items|n)\b(?: in (?:the )?\w+)?\W{1,3}"
    r"(?P<n>\d{2,})|"
    r"(?<![\d.,])(?P<also>\d{2,}) (?:rows|samples|examples|questions|problems|items)\b",
    re.IGNORECASE,
)
FEW, MANY, LEAST = 2, 4, 20  # ranks that show a row; that have one score; rows of a part
ONE_PART = (
    "all processes judge the same rows: {shown}. The score is that of one part of the rows, "
    "counted {ranks} times, and not of the whole set; a standard error by the sum is too small"
)
OWN_PART = (
    "give each process its own rows (rows[rank::world], or a DistributedSampler that does not "
    "shuffle), gather the ids that were judged, whose union must be the whole set without "
    "repeats, and score again; scores of other checkpoints by this script are of that part, too"
)


def same_part_judged(beside: Beside, log: Log) -> Iterator[Finding]:
    """Ranks that show the same first row, or that all have the same number of right answers."""
    if beside.matching(OTHER_PARALLEL):
        return
    ranks = [one for line in beside.words if (one := _of_rank(line))]
    rows, scores = _alike(ranks, _SHOWS_ROW, FEW), _scores(ranks)
    if scores is None or not (rows or len(scores) >= MANY):
        return
    found = _RIGHT.search(scores[0].text)
    right, of, number = int(found["right"]), int(found["of"]), len(scores)
    if not rows and not _is_a_part(beside, of, number):
        return
    shown = [*rows[:FEW], *scores[:FEW]]
    proof = [line.says for line in shown]
    proof.append(f"all {number} of them have {right} of {of}")
    told = "they show the same first row" if rows else f"each has {right} of {of} right"
    why = ONE_PART.format(shown=told, ranks=number)
    weight = 9.2 if rows else 7.4
    yield Finding("ranks_read_the_same", weight, shown[0], tuple(proof), why=why, advice=OWN_PART)


def _of_rank(line: Line) -> tuple[str, str, Line] | None:
    """The number of a process, what it says, and its line."""
    found = _RANK.match(line.text) if _NAMED.search(line.text) else None
    return (found["rank"], line.text[found.end() :].strip(), line) if found else None


def _alike(ranks: list, pattern: re.Pattern, least: int) -> list[Line]:
    """The lines of several ranks that say the same thing of this kind, if none says another."""
    said = [(rank, text, line) for rank, text, line in ranks if pattern.search(text)]
    is_one = len({text for _, text, _ in said}) == 1 and len({rank for rank, *_ in said}) >= least
    return [line for *_, line in said] if is_one else []


def _scores(ranks: list) -> list[Line] | None:
    """The last line with a score of each rank, if all have one and the same."""
    last: dict[str, tuple[str, Line]] = {}
    by_words: dict[str, dict[str, tuple[str, Line]]] = defaultdict(dict)
    for rank, text, line in ranks:
        if found := _RIGHT.search(text):
            by_words[text[: found.start()].strip()][rank] = (found[0], line)
    for scores in by_words.values():
        last = scores if len(scores) > len(last) else last
    if len(last) < FEW or len({score for score, _ in last.values()}) > 1:
        return None
    found = _RIGHT.search(next(iter(last.values()))[0])
    is_score = 0 < int(found["right"]) < int(found["of"]) and int(found["of"]) >= LEAST
    return [line for _, line in last.values()] if is_score else None


def _is_a_part(beside: Beside, of: int, ranks: int) -> bool:
    """Whether so many rows are the part of one of so many ranks, of a number that is told."""
    told = {int(m["n"] or m["also"]) for line in beside.words for m in _ROWS.finditer(line.text)}
    return any(abs(whole - of * ranks) < ranks and whole > of for whole in told)
