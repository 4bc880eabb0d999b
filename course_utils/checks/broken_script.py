"""An exercise on an unseen broken script: name the place and the cause, and fix one part.

It comes in variants, one fault each. A lesson says what its exercise asks (`Asked`), and for each
variant what mends it; the whole answer is put together here.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from course_utils.checks.compare import letter_in
from course_utils.checks.declare import Criterion, Exercise, Observe, not_tested
from course_utils.reproductions.reported_script import Ticket

ANOTHER_PART = not_tested("your function takes the place of another part")


@dataclass(frozen=True)
class Variant:
    """One broken run with its diagnosis, and the form of an answer on it.

    As it is, for a ticket with parts, one of which is replaced; a lesson that asks otherwise
    overrides what differs. Every ticket has `causes` by letter.
    """

    mend: ClassVar[str] = "fix"  # the key of the mend, and what it is
    mend_is: ClassVar[str] = "a function that takes the part's place"

    ticket: Ticket
    place: object  # a word of the answer, where the lesson does not say otherwise
    cause: str

    @property
    def diagnosis(self) -> dict:
        """A right answer without its mend."""
        return {"place": self.place, "cause": self.cause}

    def place_differs(self, unseen: dict) -> str | None:
        places = tuple(self.ticket.parts)
        if _word(unseen["place"]) in places:
            return None
        return f"place is one of {', '.join(places)}; given is {unseen['place']!r}"

    def mend_differs(self, mend: object) -> str | None:
        if callable(mend):
            return None
        return f"{self.mend} is {self.mend_is}; given is {mend!r}"


class Diagnosis:
    """An answer of the right form: the place and the cause it names, and its fix."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        self.variant, self.fix = variant, unseen[variant.mend]
        self.place, self.letter = _word(unseen.get("place")), letter_in(unseen["cause"])
        self.is_there = self.place == variant.place


def _word(place: object) -> str:
    return str(place).strip().lower()


def form_differs(variant: Variant, unseen: dict) -> str | None:
    keys, causes = (*variant.diagnosis, variant.mend), variant.ticket.causes
    if set(unseen) != set(keys):
        given = ", ".join(sorted(map(str, unseen))) or "none"
        return f"the keys {', '.join(keys)} are asked; given are {given}"
    if seen := variant.place_differs(unseen):
        return seen
    if letter_in(unseen["cause"]) not in causes:
        return f"cause is a letter from a to {max(causes)}; given is {unseen['cause']!r}"
    return variant.mend_differs(unseen[variant.mend])


def names_the_place(tried: Diagnosis) -> str | None:
    if tried.is_there:
        return None
    return f"your place is {tried.place}, and that part does what it should"


def names_the_cause(tried: Diagnosis) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    cause = tried.variant.ticket.causes[tried.letter]
    return f"your cause is {tried.letter}) {cause}; in this run that is not what goes wrong first"


def of_the_mend(observe: Observe) -> Observe:
    """A look at the fixed run, which exists where the faulty part was replaced."""

    @functools.wraps(observe)
    def look(tried: Diagnosis) -> str | None:
        return observe(tried) if tried.is_there else ANOTHER_PART

    return look


def of_the_runs(observe: Observe) -> Observe:
    """A look at all runs with the mend (`tried.runs`), from a look at one."""

    @functools.wraps(observe)
    def look(tried: Diagnosis) -> str | None:
        return tried.runs.first_unmet(observe)

    return look


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The questions that all variants of a lesson's exercise share.

    `diagnosis` are the criteria on what is named, the place first and the cause last, where
    `place_next` and `cause_next` are not enough; `mended` are those on the mend, where they are
    the same in all variants.
    """

    id: str
    minutes: int
    hints: tuple[str, ...]
    tried: Callable[[dict, Variant], object]
    time_limit_s: float
    place_next: str = ""
    cause_next: str = ""
    diagnosis: tuple[Criterion, ...] = ()
    mended: tuple[Criterion, ...] = ()
    difficulty: str = "a place, a letter, a few lines"
    points: int = 5
    reads: str = "unseen"

    def on(
        self,
        variant: Variant,
        title: str,
        *,
        mend: Callable | dict,
        mended: tuple[Criterion, ...] = (),
        hints: tuple[str, ...] = (),
        may_change: tuple[int, ...] = (),
    ) -> Exercise:
        """The exercise on one variant.

        `mend` is a right mend, or the part of a right answer that holds it, as a dict; `mended` are
        the criteria on it, and `hints` come after those of all variants.
        """

        def fits_the_ticket(unseen: dict) -> str | None:
            return form_differs(variant, unseen)

        criteria = self.diagnosis or self._of_the_diagnosis()
        fix = mend if isinstance(mend, dict) else {variant.mend: mend}
        return Exercise(
            id=self.id,
            name="UNSEEN",
            title=title,
            minutes=self.minutes,
            difficulty=self.difficulty,
            points=self.points,
            reads=self.reads,
            expects=(dict,),
            hints=(*self.hints, *hints),
            form=fits_the_ticket,
            criteria=(*criteria, *self.mended, *mended),
            answer=variant.diagnosis | fix,
            run=lambda unseen: self.tried(unseen, variant),
            case=lambda: variant.ticket,
            may_change=may_change,
            time_limit_s=self.time_limit_s,
        )

    def _of_the_diagnosis(self) -> tuple[Criterion, Criterion]:
        return (
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a fix elsewhere hides the fault, or does nothing",
                next=self.place_next,
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause needs its own fix",
                next=self.cause_next,
            ),
        )
