"""A whole JSON document as entries: `trainer_state.json`, or a list of dicts."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate

from course_utils.explain.entries import Entry, entries_of_row

STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]')
MAX_DEPTH = 100  # of brackets; thousands overflow the stack of Python in a browser, which ends it


def read_document(text: str) -> Iterator[Entry] | None:
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
    return (
        entry
        for number, row in enumerate(rows, start=1)
        for entry in entries_of_row(f"entry {number}", json.dumps(row), row.items())
    )


def _depth(text: str) -> int:
    """How deep the brackets of a JSON document nest."""
    marks = (found[0] for found in STRING_OR_BRACKET.finditer(text))
    return max(accumulate((mark in "[{") - (mark in "]}") for mark in marks), default=0)
