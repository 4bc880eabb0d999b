"""A new adapter whose first half gets no gradient in its first step, as its formula has it."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import trend

_STEP = re.compile(r"\bstep\W*(?P<step>\d+)\b", re.IGNORECASE)
_GRADIENT = (
    r"\b(?:g_?{0}|grad\w*[_ ]?{0}|lora_{0}\S*(?: grad\w*)?(?: norm)?|{0}\.grad\w*)\W+?"
    r"(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])"
)
_OF_A, _OF_B = (re.compile(_GRADIENT.format(one)) for one in "AB")
FEWEST = 2  # modules or steps
AT_ZERO = (
    "the gradient of A is exactly 0 in the first step because B is 0 there, and it is B times what "
    "comes back: this is how an adapter begins (its product must be 0). From the next step on "
    "every A that is shown has a gradient, which grows with B, and that A hardly moves is usual, "
    "since it begins large"
)


def still_in_the_first_step(beside: Beside, log: Log) -> Iterator[Finding]:
    """A has no gradient in the first step that is shown, B has one, and both have one later."""
    parts = sorted((*log.entries, *(line for line in beside.words)), key=place)
    rows = list(_rows(parts))
    losses = trend(log.values("loss"))
    if not rows or losses is None or losses[2] >= losses[0]:
        return
    first = rows[0][0]
    begin = [row for row in rows if row[0] == first]
    later = [row for row in rows if row[0] > first]
    is_so = all(a == 0 < b for _, a, b, _ in begin) and all(a > 0 < b for _, a, b, _ in later)
    if not is_so or len(later) < FEWEST:
        return
    at, then = begin[0][3], later[0][3]
    proof = tuple(one.says for one in (at, then))
    yield Finding("adapter_begins_at_0", 6.0, at, proof, why=AT_ZERO)


def _rows(parts: list[Entry | Line]) -> Iterator[tuple[int, float, float, Entry | Line]]:
    """Each line with a step and the gradients of both halves."""
    for line in parts:
        found = (_STEP.search(line.text), _OF_A.search(line.text), _OF_B.search(line.text))
        if all(found):
            step, of_a, of_b = found
            yield int(step["step"]), float(of_a["value"]), float(of_b["value"]), line
