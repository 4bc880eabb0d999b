"""All that a diagnosis holds: every cause with its evidence, and all that was looked at."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.diagnostics.diagnosis.report.layout import notebook, perhaps, place_of, sentence
from course_utils.diagnostics.diagnosis.sheet.finding import Found
from course_utils.shown import page
from course_utils.shown.report import Shown
from course_utils.shown.wrap import wrapped

MAX_SPECIMEN = 6  # lines of a cause


@dataclass(frozen=True)
class Details(Shown):
    """The long form of a report, one item per line."""

    lines: tuple[str, ...]

    def text(self) -> str:
        return "\n".join(map(wrapped, self.lines))

    def html(self) -> str:
        return page.preformatted(self.lines)

    __repr__ = text


def block(number: int, one: Found, values: Mapping[str, Any]) -> Iterator[str]:
    """A cause: its place, its evidence, what to do, what follows from it."""
    yield f"{number}. {sentence(perhaps(one) + one.says)}"
    place = place_of(one, values)
    yield from (f"   place: {place}" for _ in range(bool(place)))
    yield f"   evidence ({one.basis}): {one.said[0]}"
    yield from (f"     {said}" for said in (*one.said[1:], *one.specimen[:MAX_SPECIMEN]))
    yield from (f"   what speaks against it: {said}" for said in one.against)
    yield f"   fix: {one.fix}"
    yield from (f"   possible reasons: {one.rivals}" for _ in range(bool(one.rivals)))
    yield from (f"   the model: {one.harm}" for _ in range(bool(one.harm.says)))
    if one.cause.look and not one.is_sure:
        yield f"   check first: {one.cause.look}"
    yield from (f"   read on: {where}" for where in [_read_on(one)] if where)
    yield from (f"   it leads to: {name}: {number}" for name, number in one.follows)


def items(title: str, said: Iterable[str]) -> list[str]:
    """A title and one item per line; nothing at all where there is no item."""
    lines = [f"  {one}" for one in said]
    return [f"{title}:", *lines] if lines else []


def pairs(named: Mapping[str, str]) -> list[str]:
    return [f"{name}: {said}" for name, said in named.items()]


def _read_on(one: Found) -> str:
    known = [notebook(one.cause.lesson)] if one.cause.lesson else []
    known += [one.cause.instrument] if one.cause.instrument else []
    return ", ".join(known)
