"""Stem, title, minutes and place of every lesson, read off its declaration without importing it.

Importing all declarations takes seconds, since they hold models and trainers.
"""

import ast
from contextlib import suppress
from functools import cache
from pathlib import Path

from course_utils.checks.declare import Entry

HERE = Path(__file__).parent


@cache
def outline() -> tuple[Entry, ...]:
    """Every lesson, in order.

    >>> outline()[0].title
    'Start here'
    """
    modules = [*HERE.glob("lesson_*.py"), *HERE.glob("lesson_*/__init__.py")]
    return tuple(sorted(map(_entry, modules), key=lambda entry: entry.stem))


def is_outlined(stem: str) -> bool:
    return stem in {entry.stem for entry in outline()}


def _entry(module: Path) -> Entry:
    calls = [
        node.value
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "LESSON"
    ]
    plain = {}
    for keyword in calls[0].keywords:
        with suppress(ValueError):  # what is no constant is not on the map
            plain[keyword.arg] = ast.literal_eval(keyword.value)
    known = {name: plain[name] for name in Entry.__dataclass_fields__ if name in plain}
    return Entry(**known)
