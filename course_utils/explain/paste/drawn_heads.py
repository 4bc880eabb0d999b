"""Heads for a score that were not in a file, and were drawn at random when it was loaded."""

import re
from collections.abc import Iterator

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line

UNUSED = re.compile(
    r"checkpoint at (?P<path>\S+) were not used when initializing \w+: ?\[(?P<names>.+)\]"
)
DRAWN = re.compile(
    r"checkpoint at (?P<path>\S+) and are newly initialized:? ?\[(?P<names>[^\]]+)\]"
)
SCORES = re.compile(
    r"['\"](?P<name>(?:\w+\.)*(?:v_head|value_head|score|reward_head|rm_head|regression_head|"
    r"classifier)(?:\.\w+)*)['\"]"
)
_REPORT = re.compile(r"LOAD REPORT\W+from\W+(?P<path>[^\s'\"*]+)")
_MISSING = re.compile(
    r"^\W*(?P<name>(?:\w+\.)*(?:score|classifier|v_head|value_head|reward_head|regression_head)"
    r"\.\w+)\W+MISSING\b",
)
REPORT = 12  # lines of a load report


def drawn_heads(beside: Beside) -> Iterator[tuple[Line, str, list[str]]]:
    """Each load that drew a head at random: its line, its path, and the names of the head."""
    lines = beside.words
    for number, line in enumerate(lines):
        if new := DRAWN.search(line.text):
            names = [one["name"] for one in SCORES.finditer(f"[{new['names']}]")]
            yield from [(line, new["path"].rstrip(",:"), names)] if names else []
        elif report := _REPORT.search(line.text):
            below = (_MISSING.search(one.text) for one in lines[number + 1 : number + REPORT])
            names = [one["name"] for one in below if one]
            yield from [(line, report["path"], names)] if names else []
