"""Lengths of rows as somebody has counted them: p10, p50 and the like, beside or above numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.paste.entries import Line, plain_number

_NAME = r"p\d{1,2}|min|median|mean|avg|average|max"
_INLINE = re.compile(
    rf"\b(?P<name>{_NAME})\b\W{{1,3}}(?P<value>\d[\d,]*(?:\.\d+)?)(?![\d%])", re.IGNORECASE
)
_HEADER = re.compile(rf"\b(?:{_NAME})\b", re.IGNORECASE)
_OTHER = re.compile(r"(?<![\w.])\d")  # a number of its own, which a header has not
_ROW = re.compile(r"^\W*(?P<label>[A-Za-z<][^\d]*?)[\s:=|]+(?P<numbers>\d[\d,. /|]*)")
FEWEST, BELOW = 2, 8  # names of a header; rows below it


@dataclass(frozen=True)
class Counted:
    """Where the counts of one thing stand, what it is, and its numbers by name (p50, mean)."""

    line: Line
    label: str
    numbers: dict[str, float]

    def low(self) -> Iterator[tuple[str, float]]:
        """The numbers that at least half of the rows reach."""
        for name, value in self.numbers.items():
            if name in ("min", "median") or (name[0] == "p" and int(name[1:]) <= 50):
                yield name, value


def counted(lines: list[Line]) -> Iterator[Counted]:
    """Each thing whose lengths are told.

    >>> told = [Line("line 1", "      p50  max"), Line("line 2", "rows  310  1,900")]
    >>> [(one.label, one.numbers) for one in counted(told)]
    [('rows', {'p50': 310.0, 'max': 1900.0})]
    """
    for number, line in enumerate(lines):
        found = list(_INLINE.finditer(line.text))
        if found:
            label = line.text[: found[0].start()].strip()
            yield Counted(line, label, {m["name"].lower(): plain_number(m["value"]) for m in found})
        names = [one.lower() for one in _HEADER.findall(line.text)]
        if len(names) < FEWEST or _OTHER.search(line.text):
            continue
        for below in lines[number + 1 : number + 1 + BELOW]:
            row = _ROW.match(below.text)
            values = re.findall(r"\d[\d,]*(?:\.\d+)?", row["numbers"]) if row else []
            if row is None or len(values) != len(names):
                break
            numbers = dict(zip(names, map(plain_number, values), strict=True))
            yield Counted(below, row["label"].strip(), numbers)
