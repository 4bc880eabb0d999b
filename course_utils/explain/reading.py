"""Log lines as entries: which field had which number, on which line.

Reads what trainers print and save: Python dicts and JSON lines (Transformers, TRL, ms-swift,
LLaMA-Factory), `key:value - key:value` (verl), `key=value` at the end of a progress bar
(OpenRLHF), tables (notebooks, unsloth), CSV, `trainer_state.json`. Holds one line at a time.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from course_utils.explain.fields import canonical

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|NaN|NAN|[iI]nf(?:inity)?)"
_WRAPPED = rf"(?:[\w.]+\()?['\"]?(?P<value>{NUMBER})(?:/\d+)?['\"]?(?:, dtype=[\w.]+\))?\)?"
QUOTED = re.compile(rf"['\"](?P<name>[^'\"{{}}]{{1,80}})['\"]\s*:\s*{_WRAPPED}(?=\s*[,}}\]]|\s*$)")
DASHED = re.compile(rf"(?:^|\s-\s|\s)(?P<name>[\w@./-]+):\s?(?P<value>{NUMBER})(?=\s+-\s|\s*$)")
EQUALS = re.compile(rf"(?<![\w/])(?P<name>[A-Za-z_][\w/]*)\s?=\s?(?P<value>{NUMBER})(?![\w/.])")
PLAIN = re.compile(
    r"(?<![\w/])(?P<name>(?:train(?:ing)? |eval |val(?:idation)? )?loss|grad[_ ]?norm|step|iter|"
    rf"epoch|lr|learning[_ ]rate|reward|kl|entropy)\s*[:=]?\s+(?P<value>{NUMBER})(?![\w/.%])",
    re.IGNORECASE,
)
BRACES = re.compile(r"\{[^{}]*\}")
MAX_LINE, MAX_QUOTE = 20_000, 160


@dataclass(frozen=True)
class Entry:
    """The numbers of one log entry under their names here, and where they stood."""

    where: str
    text: str
    numbers: dict[str, float]
    names: dict[str, str] = field(default_factory=dict)  # the log's own words for them


@dataclass(frozen=True)
class Line:
    """A line that holds no numbers of a log entry, for those who look for words."""

    where: str
    text: str


def read(lines: Iterable[str]) -> Iterator[Entry | Line]:
    """Every entry and every other line, in order; nothing is kept but a table's header."""
    header: list[str] | None = None
    for number, raw in enumerate(lines, start=1):
        where = f"line {number}"
        for part in ANSI.sub("", raw[:MAX_LINE]).rstrip("\n").split("\r"):
            cells = _cells(part)
            if header and cells and len(cells) == len(header):
                yield from entries_of_row(where, part, zip(header, cells, strict=True))
                continue
            if cells and _is_header(cells):
                header = cells
                continue
            if part.strip() and not cells:
                header = None
            found = list(_entries(where, part))
            yield from found or ([Line(where, part.strip())] if part.strip() else [])


def read_document(text: str) -> Iterator[Entry] | None:
    """The entries of a whole JSON document (`trainer_state.json`, a list of dicts), or None."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    history = loaded.get("log_history", loaded) if isinstance(loaded, dict) else loaded
    rows = history if isinstance(history, list) else [history]
    if not all(isinstance(row, dict) for row in rows):
        return None
    return (
        entry
        for number, row in enumerate(rows, start=1)
        for entry in entries_of_row(f"entry {number}", json.dumps(row), row.items())
    )


def _entries(where: str, text: str) -> Iterator[Entry]:
    """The entries of one line; a progress bar may have left several on it."""
    groups = [group for group in BRACES.findall(text) if QUOTED.search(group)] or [text]
    is_quoted = False
    for group in groups:
        pairs = [(m["name"], m["value"]) for m in QUOTED.finditer(group)]
        is_quoted = is_quoted or bool(pairs)
        yield from entries_of_row(where, group, pairs)
    if is_quoted:
        return
    for pattern in (DASHED, EQUALS, PLAIN):
        pairs = [(m["name"], m["value"]) for m in pattern.finditer(text)]
        found = list(entries_of_row(where, text, pairs))
        if found:
            yield from found
            return


def entries_of_row(where: str, text: str, pairs: Iterable[tuple[str, object]]) -> Iterator[Entry]:
    """One entry, or none when no rule reads any of its numbers."""
    numbers: dict[str, float] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        known = canonical(str(name))
        number = _number(value)
        if known and number is not None and known not in numbers:
            numbers[known], names[known] = number, str(name).strip()
    if numbers.keys() - {"step", "epoch", "learning_rate"}:
        yield Entry(where, _short(text), numbers, names)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value).strip().split("/")[0])
    except ValueError:
        return None


def _cells(text: str) -> list[str] | None:
    """The cells of a table's row: markdown, tabs, or commas."""
    if "{" in text:
        return None
    if "|" in text and "%|" not in text:
        cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    elif "\t" in text:
        cells = [cell.strip() for cell in text.split("\t")]
    elif text.count(",") >= 1:
        cells = [cell.strip() for cell in next(csv.reader([text]), [])]
    else:
        return None
    return cells if len(cells) > 1 else None


def _is_header(cells: list[str]) -> bool:
    known = [canonical(cell) for cell in cells]
    return sum(name is not None for name in known) >= 2 and not any(
        re.fullmatch(NUMBER, cell) for cell in cells
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."
