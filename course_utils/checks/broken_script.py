"""An exercise on an unseen broken script: name the place and the cause, and fix one part.

It comes in variants, one fault each. A lesson says what its exercise asks (`Asked`), and for each
variant which parts fix it and which do not; whole answers are put together here.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from course_utils.checks.compare import letter_in
from course_utils.checks.declare import Criterion, Exercise, Observe, Wrong
from course_utils.reproductions.reported_script import Ticket

KEYS = ("place", "cause", "fix")
ANOTHER_PART = "your function takes the place of another part, so no run was trained with it"


@dataclass(frozen=True)
class Variant:
    """One broken script with its diagnosis."""

    ticket: Ticket
    place: str
    cause: str


class Diagnosis:
    """An answer of the right form: the place and the cause it names, and its fix."""

    def __init__(self, unseen: dict, variant: Variant) -> None:
        self.variant, self.fix = variant, unseen["fix"]
        self.place, self.letter = _word(unseen["place"]), letter_in(unseen["cause"])
        self.is_there = self.place == variant.place


def _word(place: object) -> str:
    return str(place).strip().lower()


def form_differs(variant: Variant, unseen: dict) -> str | None:
    places, causes = tuple(variant.ticket.parts), variant.ticket.causes
    if set(unseen) != set(KEYS):
        given = ", ".join(sorted(map(str, unseen))) or "none"
        return f"the keys {', '.join(KEYS)} are asked; given are {given}"
    if _word(unseen["place"]) not in places:
        return f"place is one of {', '.join(places)}; given is {unseen['place']!r}"
    if letter_in(unseen["cause"]) not in causes:
        return f"cause is a letter from a to {max(causes)}; given is {unseen['cause']!r}"
    if not callable(unseen["fix"]):
        return f"fix is a function that takes the part's place; given is {unseen['fix']!r}"
    return None


def names_the_place(tried: Diagnosis) -> str | None:
    if tried.is_there:
        return None
    return f"your place is {tried.place}, and that part does what it should"


def names_the_cause(tried: Diagnosis) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    cause = tried.variant.ticket.causes[tried.letter]
    return f"your cause is {tried.letter}) {cause}; this run does not show it"


def of_the_mend(observe: Observe) -> Observe:
    """A look at the fixed run, which exists where the faulty part was replaced."""

    @functools.wraps(observe)
    def look(tried: Diagnosis) -> str | None:
        return observe(tried) if tried.is_there else ANOTHER_PART

    return look


@dataclass(frozen=True)
class Asked:
    """The questions that all variants of a lesson's exercise share."""

    id: str
    minutes: int
    hints: tuple[str, str, str]
    place_next: str
    cause_next: str
    tried: Callable[[dict, Variant], Diagnosis]
    time_limit_s: float

    def on(
        self,
        variant: Variant,
        title: str,
        *,
        mended: tuple[Criterion, ...],
        right: tuple[Callable, ...],
        wrong: tuple[tuple[Callable, Observe], ...],
        unmended: Observe,
        elsewhere: dict,
        may_change: tuple[int, ...] = (),
    ) -> Exercise:
        """The exercise on one variant.

        `mended` are the criteria on the fix; `right` and `wrong` are fixes, these with the
        criterion that each fails; `unmended` is the one that the part at fault fails, and
        `elsewhere` a sound part of another place.
        """

        def fits_the_ticket(unseen: dict) -> str | None:
            return form_differs(variant, unseen)

        diagnosis = {"place": variant.place, "cause": variant.cause}
        spelt = {"place": f" {variant.place.title()}", "cause": f"({variant.cause.upper()})"}
        mends = ((variant.ticket.parts[variant.place], unmended), *wrong)
        return Exercise(
            id=self.id,
            name="UNSEEN",
            title=title,
            minutes=self.minutes,
            difficulty="a place, a letter, a few lines",
            points=5,
            reads="unseen",
            expects=(dict,),
            hints=self.hints,
            form=fits_the_ticket,
            criteria=(*self._of_the_diagnosis(), *mended),
            right=(*(diagnosis | {"fix": fix} for fix in right[:-1]), spelt | {"fix": right[-1]}),
            wrong=(
                *_misdiagnoses(variant, diagnosis | {"fix": right[0]}, elsewhere, fits_the_ticket),
                *(Wrong(diagnosis | {"fix": mend}, caught_by=look) for mend, look in mends),
            ),
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
                why="a mend elsewhere hides the fault, or does nothing",
                next=self.place_next,
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next=self.cause_next,
            ),
        )


def _misdiagnoses(variant: Variant, good: dict, elsewhere: dict, form: Observe) -> list[Wrong]:
    """Answers of a wrong form, and a good fix with a wrong place or cause."""
    others = [letter for letter in variant.ticket.causes if letter != variant.cause]
    return [
        Wrong({}, caught_by=form),
        Wrong(good | {"place": "the model"}, caught_by=form),
        Wrong(good | {"cause": "z"}, caught_by=form),
        Wrong(good | {"fix": "mend it"}, caught_by=form),
        Wrong(good | {"line": 7}, caught_by=form),
        Wrong(good | elsewhere, caught_by=names_the_place),
        *(Wrong(good | {"cause": letter}, caught_by=names_the_cause) for letter in others),
    ]
