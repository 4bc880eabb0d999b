"""A run that is said to hang: where to look, and no cause, which such words never told."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_HANGS = re.compile(
    r"\b(?:jobs?|runs?|trainings?|process(?:es)?|ranks?|it) (?:just |then |always )?"
    r"(?:hangs?|hung|freezes?|froze|stops? responding)\b|"
    r"\b(?:is|are|got) (?:hung|deadlocked)\b|\bdeadlocks?\b|\u5361\u4f4f|\u5361\u6b7b",
    re.IGNORECASE,
)


def said_to_hang(beside: Beside, log: Log) -> Iterator[Finding]:
    """What is said of a process that does not go on."""
    for line in beside.told():
        if found := _HANGS.search(line.text):
            start = max(0, found.start() - 40)
            said = line.text[start : found.end() + 60].strip()
            yield Finding("stands_still", LOOK, line, (f"{line.where} says: {said}",))
            return
