"""A metric that a sentence says to stay where it is: "clipped_ratio is always 1.0"."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, number_of
from course_utils.explain.paste.fields import canonical

_STAYS = re.compile(
    r"(?<![\w/])(?P<name>[A-Za-z][\w/]*_[\w/]*)`?\W{0,2}.{0,14}?"
    r"(?:always|constantly|stays?(?: at)?|remains?(?: at)?|stuck at|\u957f\u671f\u4e3a|"
    r"\u4e00\u76f4(?:\u662f|\u4e3a)|\u6052\u4e3a)\s*"
    r"(?P<value>zero|\d+(?:\.\d+)?)(?![\w%])",
    re.IGNORECASE,
)
_MEANS = {  # by field: which values, and the cause that such a level shows
    "truncated_share": (lambda value: value >= 0.4, "replies_cut"),
    "clip_ratio": (lambda value: value == 0, "clips_nothing"),
    "zero_std_share": (lambda value: value > 0.95, "no_signal"),
    "reward_std": (lambda value: value == 0, "no_signal"),
}
WEIGHT = 4.0


def spoken(beside: Beside) -> Iterator[Finding]:
    """What a level means that the writer says to last, where no entry shows it."""
    if beside.num_entries:
        return
    for line in beside.words:
        found = _STAYS.search(line.text)
        means = _MEANS.get(canonical(found["name"]) or "") if found else None
        if not found or not means:
            continue
        value = 0.0 if found["value"].lower() == "zero" else number_of(found["value"])
        if value is not None and means[0](value):
            proof = (f"{line.where} says: {found[0].strip()[:MAX_QUOTE]}",)
            yield Finding(means[1], WEIGHT, line, proof)
