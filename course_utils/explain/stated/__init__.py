"""Causes in the sentences, tables, code and lists beside the numbers."""

from collections.abc import Callable, Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.stated import calls, evaluations, labels, replies, rows, served, steps

ROOMS = (served, evaluations, steps, labels, rows, replies, calls)
RULES: tuple[Callable[[Beside, Log], Iterator[Finding]], ...] = tuple(
    rule for room in ROOMS for rule in room.RULES
)
