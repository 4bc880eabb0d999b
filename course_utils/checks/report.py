"""The result of a check, shown as text, as HTML or as a dict."""

from dataclasses import dataclass
from enum import StrEnum

from course_utils.checks.declare import NOT_TESTED, Criterion, Exercise
from course_utils.shown import page
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table
from course_utils.shown.wrap import wrapped


class Outcome(StrEnum):
    PASSED = "passed"
    WRONG = "wrong"
    NOT_ATTEMPTED = "not attempted"
    RAISED = "raised"


STATES = {
    Outcome.PASSED: State.GOOD,
    Outcome.WRONG: State.BAD,
    Outcome.NOT_ATTEMPTED: State.OPEN,
    Outcome.RAISED: State.ALARM,
}


WORDS = {State.GOOD: "met", State.BAD: "NOT MET", State.OPEN: NOT_TESTED}


@dataclass(frozen=True)
class Observation:
    """One criterion and what was seen; `saw` is None when it is met."""

    criterion: Criterion
    saw: str | None

    @property
    def state(self) -> State:
        """OPEN for a criterion that was not reached, as `not_tested` says."""
        if self.saw is None:
            return State.GOOD
        return State.OPEN if self.saw.startswith(NOT_TESTED) else State.BAD


@dataclass(frozen=True)
class CheckReport(Report):
    """The result of one check."""

    exercise: Exercise
    outcome: Outcome
    observed: tuple[Observation, ...] = ()
    details: tuple[str, ...] = ()  # what was raised, or what to do when nothing was attempted

    @property
    def points(self) -> int:
        return self.exercise.points if self.outcome is Outcome.PASSED else 0

    @property
    def headline(self) -> str:
        met = sum(one.saw is None for one in self.observed)
        counted = f", {met} of {len(self.observed)} met" if len(self.observed) > 1 else ""
        points = f"{self.points} of {self.exercise.points} points"
        return f"{self.exercise.id} {self.exercise.title}: {self.outcome}{counted}, {points}"

    @property
    def _advised(self) -> tuple[Observation, ...]:
        """The unmet criteria whose advice is shown."""
        unmet = tuple(one for one in self.observed if one.saw is not None)
        return unmet if self.exercise.asks_apart else unmet[:1]

    def table(self) -> Table:
        rows, advised = [], self._advised
        for one in self.observed:
            rows.append((WORDS[one.state], one.criterion.says))
            if one.saw is not None:
                rows.append(("", f"saw: {one.saw}"))
            if one in advised:
                advice = {"why it matters": one.criterion.why, "try next": one.criterion.next}
                rows += [("", f"{label}: {text}") for label, text in advice.items() if text]
        return Table(columns=("result", "what a right answer does"), rows=rows)

    def text(self) -> str:
        return "\n".join([super().text(), *(wrapped(f"  {line}") for line in self.details)])

    def html(self) -> str:
        advised = self._advised
        body = "".join(_line(one, with_advice=one in advised) for one in self.observed)
        details = page.preformatted(self.details) if self.details else ""
        return page.box(STATES[self.outcome], self.headline, body + details)

    def to_dict(self) -> dict:
        return {
            "exercise": self.exercise.id,
            "outcome": str(self.outcome),
            "points": self.points,
            "of": self.exercise.points,
            "unmet": [one.criterion.says for one in self.observed if one.saw is not None],
            "details": list(self.details),
        }


def _line(one: Observation, *, with_advice: bool) -> str:
    if one.saw is None:
        return page.line(State.GOOD, one.criterion.says)
    advice = (("why it matters", one.criterion.why), ("try next", one.criterion.next))
    said = tuple((name, text) for name, text in advice if text and with_advice)
    return page.line(one.state, one.criterion.says, (("saw", one.saw), *said))
