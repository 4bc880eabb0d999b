"""Lays out a diagnosis for a terminal: the verdict, one block per cause, then one item per line."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from course_utils.diagnostics.diagnosis.sheet.finding import Found

MAX_SPECIMEN = 6  # lines of a cause
FINE = re.compile(r" \(fine: [^)]*\)")  # a threshold, which says nothing of a consequence


def opening(what: str, causes: tuple[Found, ...], *, has_looked: bool) -> list[str]:
    """What is diagnosed and where it is broken; whether harm was measured, and what to do then."""
    if not causes:
        return [f"{what}: nothing found" if has_looked else f"{what}: nothing could be looked at"]
    first = causes[0]
    return [f"{what}: a fault in {first.verdict.where}.", f"harm: {first.harm}."]


def perhaps(one: Found) -> str:
    """What stands before a cause that other causes could pass for."""
    return "" if one.is_sure else "probably: "


def block(number: int, one: Found) -> Iterator[str]:
    """A cause: what was measured, the thing itself, what to do, what follows from it."""
    yield f"{number}. {perhaps(one)}{one.says}"
    yield from (f"   place: {one.place}" for _ in range(bool(one.place)))
    yield f"   {one.basis}: {one.said[0]}"
    yield from (f"   and: {said}" for said in one.said[1:])
    yield from (f"   against it: {said}" for said in one.against)
    yield from (f"   > {line}" for line in one.specimen[:MAX_SPECIMEN])
    yield f"   fix: {one.fix}"
    yield from (f"   why, probably: {one.rivals}" for _ in range(bool(one.rivals)))
    if one.cause.look and not one.is_sure:
        yield f"   look next: {one.cause.look}"
    yield from (f"   see: {where}" for where in [_read_on(one)] if where)
    yield from (f"   so: {name}: {number}" for name, number in one.follows)


def items(title: str, said: Iterable[str]) -> list[str]:
    """A title and one item a line; nothing at all where there is no item."""
    lines = [f"  {one}" for one in said]
    return [f"{title}:", *lines] if lines else []


def pairs(named: dict[str, str]) -> list[str]:
    return [f"{name}: {said}" for name, said in named.items()]


def notebook(lesson: str) -> str:
    return str(Path("notebooks") / f"{lesson}.ipynb")


def _read_on(one: Found) -> str:
    known = [notebook(one.cause.lesson)] if one.cause.lesson else []
    known += [one.cause.instrument] if one.cause.instrument else []
    return ", ".join(known)
