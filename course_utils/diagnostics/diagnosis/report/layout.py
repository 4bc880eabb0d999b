"""The short report: cause, place, evidence and fix of the first cause, a line for the rest."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import Found
from course_utils.shown.wrap import wrapped

FIRST = 8  # lines in which cause, place, evidence and fix stand
MAX_OTHERS = 2  # causes behind the first
LONGEST = 240  # characters of a line that only supports another
FINE = re.compile(r" \(fine: [^)]*\)")  # a threshold, which says nothing of a consequence
OF_A_LOG = re.compile(r"(step|entry|line) \d+(, entry \d+)?$")
CHANGE = re.compile(r"(\w+=\S+) -> ")
MORE = "All that was looked at: print(report.details)."


def opening(what: str, one: Found) -> str:
    """What is broken, at which stage, and by what."""
    says = sentence(perhaps(one) + one.says)
    return _once(f"{what}: a fault in {one.verdict.where}. {says}.")


def first_cause(what: str, one: Found, values: Mapping[str, Any]) -> list[str]:
    """The lines on the first cause; what has no room before the fix stands in the details."""
    head = _fitted([opening(what, one)])
    place = place_of(one, values)
    head += _fitted([f"Place: {place}."] if place else [])
    end = _fitted([f"Fix: {one.fix}."])
    seen = [f"Evidence: {one.said[0]}", *(f"  {said}" for said in (*one.specimen, *one.said[1:]))]
    room = FIRST - len(head) - len(end)
    kept = _cut(_fitted([seen[0]]), max(room, 1))
    for line in seen[1:]:
        lines = _fitted([line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."])
        if len(kept) + len(lines) > room:
            break
        kept += lines
    return [*head, *kept, *end]


def _cut(lines: list[str], room: int) -> list[str]:
    """The first lines; the details have the rest."""
    return lines if len(lines) <= room else [*lines[: room - 1], f"{lines[room - 1][:-4]} ..."]


def beside_it(one: Found) -> list[str]:
    """Which reasons remain, what to check before the fix, and what became of the model."""
    lines = [f"Possible reasons: {one.rivals}."] if one.rivals else []
    if one.cause.look and not one.is_sure and not one.rivals:
        lines.append(f"Check first: {one.cause.look}.")
    if one.harm.says:
        lines.append(f"The model: {one.harm}.")
    return _fitted(lines)


def other_causes(causes: Iterable[Found]) -> list[str]:
    """One line for each cause behind the first, while there are few; the details have all."""
    return _fitted(f"Also: {one.says}. Fix: {one.fix}." for one in islice(causes, MAX_OTHERS))


def place_of(one: Found, values: Mapping[str, Any]) -> str:
    """Where to look, in words: a setting with its value, a module, a column, a line of code.

    Of what a log alone shows, the setting that its fix changes; its evidence names the step.

    >>> place_of(Found("rate_too_high", 5.0, ("",), "learning_rate"), {"learning_rate": 0.5})
    'the setting learning_rate=0.5'
    """
    names = one.place.split(", ")
    if one.is_of_log and OF_A_LOG.match(one.place):
        changed = CHANGE.match(one.fix)
        return f"the setting {changed[1]}" if changed else ""
    if one.place and all(name in values for name in names):
        told = ", ".join(f"{name}={_short(values[name])}" for name in names)
        return f"the setting{'s' if len(names) > 1 else ''} {told}"
    return one.place


def perhaps(one: Found) -> str:
    """What stands before a cause that other causes could pass for."""
    return "" if one.is_sure else "probably "


def sentence(text: str) -> str:
    """With a capital letter, unless a name stands first.

    >>> sentence("the loss is 0"), sentence("use_kl_loss is False")
    ('The loss is 0', 'use_kl_loss is False')
    """
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() else text


def one_line(title: str, names: Iterable[str], *, width: int = 96) -> list[str]:
    """As many of the names as one line holds, and the number of the rest."""
    names, kept = list(names), []
    while names and len(f"{title}: {', '.join([*kept, names[0]])}") < width - 12:
        kept.append(names.pop(0))
    more = f" and {len(names)} more" if names else ""
    return [f"{title}: {', '.join(kept)}{more}."] if kept else []


def notebook(lesson: str) -> str:
    return str(Path("notebooks") / f"{lesson}.ipynb")


def _fitted(lines: Iterable[str]) -> list[str]:
    """The lines as they are printed, full stops once."""
    return [part for line in lines for part in wrapped(_once(line)).split("\n")]


def _once(line: str) -> str:
    return re.sub(r"([.!?])\.$", r"\1", line)


def _short(value: Any) -> str:
    value = getattr(value, "value", value)
    return f"{value:g}" if isinstance(value, float) else str(value)
