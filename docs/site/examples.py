"""What people pasted, by the cause that comes first in the answer, from the tests' own logs."""

import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))

from crashes import CRASHES
from explain_shapes import SHAPES
from pasted_logs import LOGS

from course_utils.causes import CAUSES
from course_utils.explain import Answer, explain
from course_utils.explain.messages.words import finding_of_code

THREAD, MESSAGE, SHAPE = "pasted", "a message", "made up"
CODES = range(-31, 256)
MAX_TITLE = 90
PLACE = re.compile(r"^(first )?line \d+( is the first entry| says)?: ")


@dataclass(frozen=True)
class Example:
    """A text that `course explain` answers with this cause first; `thread` is "" if made up."""

    kind: str
    text: str
    thread: str = ""

    @cached_property
    def answer(self) -> Answer:
        return explain(self.text)


@cache
def examples() -> dict[str, list[Example]]:
    """By the key of the cause; pasted logs come first. A cause may have none."""
    found = defaultdict(list)
    for log in LOGS:
        if log.key:
            found[log.key].append(Example(THREAD, log.text, log.thread))
    for text, key in CRASHES.items():
        if not text.lstrip("-").isdigit():
            found[key].append(Example(MESSAGE, text))
    for key, rows in SHAPES.items():
        found[key].append(Example(SHAPE, "\n".join(map(str, rows))))
    return {key: [one for one in found[key] if _is_first(key, one)] for key in CAUSES}


@cache
def exit_codes() -> dict[str, list[int]]:
    """The exit codes that lead to each cause."""
    found = defaultdict(list)
    for code in CODES:
        if one := finding_of_code(str(code)):
            found[one.key].append(code)
    return found


def title(key: str) -> str:
    """What is seen of a cause, in the words of its first example, else in those of its codes."""
    for example in examples()[key]:
        first = example.answer.findings[0]
        if example.kind == MESSAGE:
            return example.text[:MAX_TITLE]
        said = first.for_it[0]
        words = first.at.text if " says: " in said else PLACE.sub("", said)
        return words if len(words) <= MAX_TITLE else f"{words[:MAX_TITLE].rsplit(' ', 1)[0]} …"
    codes = exit_codes().get(key, ())
    said = CAUSES[key].says
    return f"exit code {' or '.join(map(str, codes))}" if codes else said[0].upper() + said[1:]


def _is_first(key: str, example: Example) -> bool:
    findings = example.answer.findings
    return bool(findings) and findings[0].key == key
