"""Scores that are printed under one name in several places, in any syntax."""

import re
from collections.abc import Iterable, Iterator

from course_utils.explain.paste.entries import Entry, Line

_SCORE = re.compile(
    r"(?<![\w-])['\"]?(?P<name>(?:\w+[-_ /])?(?:exact[-_ ]match|em|acc(?:uracy)?|f1|bleu(?:-?\d)?|"
    r"rouge(?:-?\w)?|pass@\d|score|ok|valid(?:[-_ ][a-z]+)?|parse\w*|success|"
    r"win[-_ ]?rate|(?:arg|call)\w*|reward|opened|closed))['\"]?"
    r"(?:,(?: \w+){1,4}(?=\s*[:=]))?"
    r"\s*(?:[:=|]\s*|\s)\s*(?P<value>\d{1,3}(?:\.\d+)? ?%|(?:\d{1,3})?\.\d+)(?![\w.]*\w)",
    re.IGNORECASE,
)
_OF_WHERE = re.compile(r"^(?:eval|val|test|dev|train\w*|serv\w*|api|vllm|mean|the|its|and)_")
MUCH = 0.6  # of the better value


def scores(parts: Iterable[Line | Entry]) -> Iterator[tuple[Line | Entry, str, float]]:
    """Each score with its part of the log and its name in small letters.

    >>> line = Line("line 1", "(live) call_ok 0.962, {'exact_match': 0.5} acc: 41.2%")
    >>> [(name, round(value, 3)) for _, name, value in scores([line])]
    [('call_ok', 0.962), ('exact_match', 0.5), ('acc', 0.412)]
    """
    for part in parts:
        for found in _SCORE.finditer(part.text):
            value = float(found["value"].rstrip("% "))
            name = _OF_WHERE.sub("", re.sub(r"[-_ /]", "_", found["name"].lower()))
            yield part, name, value / 100 if "%" in found["value"] else value


def fell(parts: Iterable[Line | Entry]) -> list[str]:
    """What says that a score is far lower at a later place than at one before it."""
    best: dict[str, tuple[Line | Entry, float]] = {}
    for part, name, value in scores(parts):
        before, high = best.get(name, (part, value))
        if part is not before and value < MUCH * high:
            return [f"{name} is {high:g} at {before.where} and {value:g} at {part.where}"]
        if value >= high:
            best[name] = (part, value)
    return []
