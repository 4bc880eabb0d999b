"""Reads a whole JSON document as entries: `trainer_state.json`, or a list of dicts."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate

from course_utils.explain.paste.entries import Entry, Line, entries_of_row

STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]')
MAX_DEPTH = 100  # of brackets; thousands overflow the stack of Python in a browser, which ends it


def read_document(text: str) -> Iterator[Entry | Line] | None:
    """The entries of a whole JSON document (`trainer_state.json`, a list of dicts), or None."""
    if _depth(text) > MAX_DEPTH:
        return None
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    history = loaded.get("log_history", loaded) if isinstance(loaded, dict) else loaded
    rows = history if isinstance(history, list) else [history]
    if not all(isinstance(row, dict) for row in rows):
        return None
    return (part for number, row in enumerate(rows, start=1) for part in _parts(number, row))


def _parts(number: int, row: dict) -> Iterator[Entry | Line]:
    """The entry of a row, and what it says in words."""
    where = f"entry {number}"
    yield from entries_of_row(where, json.dumps(row), row.items())
    yield from (Line(where, said) for said in row.values() if isinstance(said, str))


def flat_pairs(line: str) -> list[tuple[str, object]]:
    """The pairs of a JSON line that holds dicts within it; [] for any other line.

    >>> flat_pairs('{"step": 10, "metrics": {"loss": 2.1, "lr": 1e-5}}')
    [('step', 10), ('loss', 2.1), ('lr', 1e-05)]
    """
    text = line.strip()
    if not (text.startswith("{") and text.endswith("}") and text.count("{") > 1):
        return []
    if _depth(text) > MAX_DEPTH:
        return []
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return list(_leaves(row))


def _leaves(row: dict) -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield name, value


def _depth(text: str) -> int:
    """How deep the brackets of a JSON document nest."""
    marks = (found[0] for found in STRING_OR_BRACKET.finditer(text))
    return max(accumulate((mark in "[{") - (mark in "]}") for mark in marks), default=0)
