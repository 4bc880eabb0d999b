"""Finds causes that a line states in words: messages, signals, exit codes."""

import re

from course_utils.causes import CAUSES
from course_utils.causes.cause import CERTAIN
from course_utils.explain.finding import Finding
from course_utils.explain.messages.phrases import PHRASES
from course_utils.explain.paste.entries import Entry, Line

_CODE = re.compile(r"^\s*(?:exit(?:ed)?(?: with)?(?: (?:code|status))?:?\s*)?(-?\d{1,3})\s*$", re.I)
_BY_CODE = {one.exit_code: key for key, one in CAUSES.items() if one.exit_code is not None}
_BY_SIGNAL = {one.signal: key for key, one in CAUSES.items() if one.signal}
_ASKED = re.compile(r"Tried to allocate ([\d.]+) ([KMG]i?B)")
_FREE = re.compile(r"([\d.]+) ([KMG]i?B) (?:is )?free")
_OF = re.compile(r"(?:\d[\d,.]*\s*(?:(?:out )?of (?:the )?|/\s*))?[\d,.]*$")
_BYTES = {"K": 2**10, "M": 2**20, "G": 2**30}


def findings_in(line: Line | Entry) -> list[Finding]:
    """What this line says outright; at most one thing.

    >>> [found.key for found in findings_in(Line("line 3", "Floating point exception"))]
    ['sigfpe']
    """
    lower = line.text.lower()
    for key, weight, held, pattern in PHRASES:
        if held in lower and (matched := pattern.search(line.text)):
            said = [f"{line.where} says: {_counted(line.text, matched)}{matched[0]}"]
            if key == "cuda_memory" and (odd := _free_above_asked(line.text)):
                key, said = "memory_odd", [*said, odd]
            return [Finding(key, weight, line, for_it=tuple(said))]
    return []


def _counted(text: str, matched: re.Match) -> str:
    """What stands just before words that begin with a number, and belongs to that number.

    >>> text = "869 out of 1000 instances"
    >>> _counted(text, re.search("[0-9]+ instances", text))
    '869 out of '
    """
    return _OF.search(text[: matched.start()])[0] if matched[0][:1].isdigit() else ""


def _free_above_asked(text: str) -> str:
    """What an out-of-memory message says of itself, if more was free than asked; else ""."""
    asked, free = _ASKED.search(text), _FREE.search(text)
    if not asked or not free or _bytes(free) <= _bytes(asked):
        return ""
    return f"it asked for {asked[1]} {asked[2]} where {free[1]} {free[2]} were free"


def _bytes(matched: re.Match) -> float:
    return float(matched[1]) * _BYTES[matched[2][0].upper()]


def finding_of_code(text: str) -> Finding | None:
    """What a text says that is nothing but an exit code: -8, 136, "exit code 137"."""
    matched = _CODE.match(text.strip())
    if not matched:
        return None
    code = int(matched[1])
    number = -code if code < 0 else code - 128
    key = _BY_CODE.get(code) or _BY_SIGNAL.get(number)
    if key is None:
        return None
    said = f"the exit code is {code}"
    if code not in _BY_CODE:
        said = f"{code} is signal {number}" + (f": 128 + {number}" if code > 0 else "")
    return Finding(key, CERTAIN, Line("line 1", text.strip()), for_it=(said,))
