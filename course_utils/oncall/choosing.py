"""Chooses a new ticket: of a level, a lesson or a class, and none again before all have been used.

A seed and a level give one case, so what is chosen is a seed: the ticket can be drawn again by it.
"""

import re
import secrets
from collections import Counter

from course_utils.causes.kinds import CLASSES, TAUGHT_BY
from course_utils.errors import BadRequest
from course_utils.files.progress import Progress
from course_utils.oncall import cases, folder
from course_utils.oncall.declare import Case

DRAWN = re.compile(r"oncall\.(\d)\.(\d+)")  # a ticket in the reader's progress: level and seed
MAX_SEED = 10**6


def new_seed(
    progress: Progress | None, *, level: int, lesson: str | None = None, kind: str | None = None
) -> int:
    """The seed of a ticket of this level, lesson and class that was used least so far.

    Args:
        progress: the reader's, which says what was used; None where there is none.

    Raises:
        BadRequest: there is no such lesson or class, or no ticket of it at this level.
    """
    uses, wanted = Counter(_used(progress) if progress else ()), _wanted(level, lesson, kind)
    fewest = min(uses[name] for name in wanted)
    left = {name for name in wanted if uses[name] == fewest}
    while True:
        seed = secrets.randbelow(MAX_SEED)
        if folder.draw(seed, level).id in left:
            return seed


def note_use(progress: Progress, ticket: folder.Ticket) -> None:
    """Remember that the reader was given this ticket."""
    progress.record_draw(f"oncall.{ticket.level}.{ticket.seed}", ticket.seed)


def _used(progress: Progress) -> list[str]:
    """The cases of all tickets that were opened, or checked, by this reader."""
    noted = progress.read()
    found = filter(None, map(DRAWN.fullmatch, {*noted["draws"], *noted["exercises"]}))
    levels_and_seeds = [tuple(map(int, one.groups())) for one in found]
    return [folder.draw(seed, of).id for of, seed in levels_and_seeds if of in folder.LEVELS]


def _wanted(level: int, lesson: str | None, kind: str | None) -> list[str]:
    asked = _kinds(lesson, kind)
    every = [case for case in map(cases.load, cases.proved()) if asked & _kinds_of(case)]
    found = [case.id for case in every if case.level == level]
    if found:
        return found
    levels = " or ".join(map(str, sorted({case.level for case in every})))
    raise BadRequest(
        f"there is no ticket of level {level} for {_in_words(lesson, kind)}",
        why="each ticket has one level, and not every class has tickets of all of them",
        fix=f"ask for --level {levels}" if levels else f"choose a class from {_with_tickets()}",
    )


def _kinds(lesson: str | None, kind: str | None) -> set[str]:
    """The classes that are asked for."""
    number = lesson and lesson.partition("_")[0].zfill(2)
    if number and number not in TAUGHT_BY:
        raise BadRequest(
            f"there are no tickets for a lesson {lesson!r}",
            why="a lesson has tickets when it teaches a class of failure",
            fix=f"choose one of {', '.join(TAUGHT_BY)}",
        )
    if kind and kind not in CLASSES:
        raise BadRequest(
            f"there is no class {kind!r}",
            why="a class is one of those that report.yaml lists",
            fix=f"choose a class from {_with_tickets()}",
        )
    of_lesson = set(TAUGHT_BY[number]) if number else set(CLASSES)
    return of_lesson & {kind} if kind else of_lesson


def _kinds_of(case: Case) -> set[str]:
    return {fault.kind for fault in case.faults}


def _in_words(lesson: str | None, kind: str | None) -> str:
    said = (f"lesson {lesson}" if lesson else "", f"class {kind}" if kind else "")
    return " and ".join(filter(None, said)) or "anything"


def _with_tickets() -> str:
    """The classes that have tickets, in words."""
    found = set().union(*(_kinds_of(cases.load(name)) for name in cases.proved()))
    return ", ".join(kind for kind in CLASSES if kind in found)
