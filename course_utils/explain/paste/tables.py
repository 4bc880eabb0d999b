"""Reads tables, a header and then rows: Markdown, tabs, commas, semicolons, columns of spaces."""

import csv
import re
from collections.abc import Callable

NUMBER = (
    r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|"
    r"(?i:nan(?:\(ind\))?|inf(?:inity)?)(?![a-zA-Z]))"
)
VALUE_LAST = re.compile(rf"\s{NUMBER}$")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,000)+|[1-9]\d{0,2}(?:,\d{3}){2,}")
_LOGGER = re.compile(r"^\d{4}-\d\d-\d\d[ T][\d:,.]+ .*? : (?=\S)")  # the time, who speaks
_JUDGED = {"val", "valid", "eval", "dev", "test"}
FEWEST = 3  # names, where single spaces stand between them
BAR_IN_A_WORD = re.compile(r"(?<=\S)\|(?=\S)")
GAP = re.compile(r"\.\.\.|[-=+|:\s]*")  # rows left out, rules


class Table:
    """Holds the header of the table that a log is in; `feed` gives the pairs of a row."""

    def __init__(self, canonical: Callable[[str], str | None]):
        self._canonical, self._header = canonical, None

    def feed(self, text: str) -> list[tuple[str, str]] | None:
        """The row's pairs; [] for a header or a rule; None if it is no part of a table."""
        found = cells(text)
        found = self._between_spaces(text) if found is None else found
        if found and self._header and len(found) == len(self._header):
            return list(zip(self._header, found, strict=True))
        if found and self._is_header(named := _losses(found, self._canonical)):
            self._header = named
            return []
        if self._header and GAP.fullmatch(text.strip()):
            return []
        if not found:
            self._header = None
        return None

    def _between_spaces(self, text: str) -> list[str] | None:
        """A header of known names, or a row of as many numbers, with one space between cells."""
        words = text.split()
        if self._header and len(words) == len(self._header):
            return words if all(re.fullmatch(NUMBER, word) for word in words) else None
        names = []
        while words:
            longest = range(min(3, len(words)), 0, -1)
            known = (n for n in longest if self._canonical(" ".join(words[:n])))
            if not (long := next(known, 0)):
                return None
            names.append(" ".join(words[:long]))
            words = words[long:]
        return names if len(names) >= FEWEST else None

    def _is_header(self, found: list[str]) -> bool:
        known = [self._canonical(cell) for cell in found]
        held = [cell for cell, name in zip(found, known, strict=True) if name is not None]
        if sum(bool(VALUE_LAST.search(cell)) for cell in held) > 1:
            return False  # a row of names, each with its number
        return len(held) >= 2 and not any(re.fullmatch(NUMBER, cell) for cell in found)


def _losses(names: list[str], canonical: Callable[[str], str | None]) -> list[str]:
    """The names of a header in which `train` and `val`, beside a step, stand for two losses.

    >>> _losses(["iter", "train", "val", "lr"], lambda name: "step" if name == "iter" else None)
    ['iter', 'train loss', 'val loss', 'lr']
    """
    plain = [name.strip().lower() for name in names]
    if (
        len(names) <= FEWEST
        or "train" not in plain
        or not _JUDGED & set(plain)
        or "step" not in map(canonical, names)
    ):
        return names
    return [
        f"{name} loss" if one in {"train", *_JUDGED} else name
        for name, one in zip(names, plain, strict=True)
    ]


def cells(text: str) -> list[str] | None:
    """The cells of a row, or None.

    >>> cells("1;2,05;0,9"), cells("step   loss"), cells("a sentence")
    (['1', '2.05', '0.9'], ['step', 'loss'], None)
    """
    if "{" in text:
        return None
    text = _LOGGER.sub("", text).strip("*#=")
    columns = re.split(r"\s{2,}", text.strip())
    if "|" in text and "%|" not in text and not _is_in_words(text, columns):
        found = text.strip().strip("|").split("|")
    elif "\t" in text:
        found = text.split("\t")
    elif ";" in text:
        found = text.split(";")
    elif "," in text and not any(DECIMAL_COMMA.fullmatch(cell) for cell in columns[1:]):
        return _more_than_one(_between_commas(text))
    else:
        found = columns
    return _more_than_one([_with_point(cell) for cell in found])


def _is_in_words(text: str, columns: list[str]) -> bool:
    """Whether each bar is a sign within a name of a table that blanks divide: `tok(|dlogp|>1)`."""
    return len(columns) >= FEWEST and len(BAR_IN_A_WORD.findall(text)) == text.count("|")


def _between_commas(text: str) -> list[str]:
    """A progress bar may leave "\r" in a line, and a dump a field that csv finds too long."""
    try:
        return next(csv.reader([text.replace("\r", " ")]), [])
    except csv.Error:
        return []


def _more_than_one(found: list[str]) -> list[str] | None:
    return [cell.strip() for cell in found] if len(found) > 1 else None


def _with_point(cell: str) -> str:
    """A decimal comma as a point; what can only be thousands, as a number.

    >>> _with_point("2,05"), _with_point("344,093,120"), _with_point("12,000")
    ('2.05', '344093120', '12000')
    """
    cell = cell.strip()
    if THOUSANDS.fullmatch(cell):
        return cell.replace(",", "")
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell
