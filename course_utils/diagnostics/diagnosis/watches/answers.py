"""Counts whether rewards follow the answer of their own row, or that of another one."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Any

from course_utils.diagnostics.diagnosis.measures.pricing import answer_of
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.libraries.trl import reward_names

FEWEST = 8  # replies of a kind
MOST = 4096
LONGEST = 40  # characters of an answer that can stand in a reply by its words
MORE = 0.25  # of the range of rewards: with less than that beyond another the own counts little
ERRORS = 2.0  # standard errors by which it must
ALL = 0.98  # of the replies
DISTINCT = 2  # answers


@dataclass(frozen=True)
class Reply:
    """A reply that holds an answer of its batch."""

    holds_own: bool
    holds_first: bool  # that of the first row of its batch
    is_of_first: bool  # whether its own answer is that one
    reward: float


@dataclass
class Answers:
    """Replies that hold the answer of their row, or of another one, with their rewards."""

    replies: list[Reply] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    specimen: tuple[str, ...] = ()
    column: str = ""
    answers: set[str] = field(default_factory=set)

    def read(
        self, rows: Any, said: Callable[[], Sequence[str]], rewards: Sequence[float] | None
    ) -> None:
        if not isinstance(rows, list) or rewards is None or len(rows) != len(rewards):
            return
        if len(self.replies) >= MOST or not all(isinstance(row, Mapping) for row in rows):
            return
        own = [answer_of(row).strip().lower() for row in rows]
        if not all(own) or max(map(len, own)) > LONGEST or len(set(own)) < DISTINCT:
            return
        self.column = next(k for k, v in rows[0].items() if _is_answer(k, v))
        self.answers |= set(own)
        self.rewards += rewards
        for answer, text, reward in zip(own, said(), rewards, strict=False):
            words = f" {' '.join(_words(text))} "
            held = {one for one in set(own) if f" {' '.join(_words(one))} " in words}
            if not held:
                continue
            found = Reply(answer in held, own[0] in held, answer == own[0], reward)
            self.replies.append(found)
            if found.holds_own != (reward > min(self.rewards)) and not self.specimen:
                said_so = f"{quoted(text)} earns {reward:.3g}"
                self.specimen = (f"{said_so}; the row's answer is {answer!r}",)

    def judge(self, trainer: Any, sheet: Sheet) -> None:
        """Replies with their row's answer must earn more than those with another row's."""
        functions = [f for f in getattr(trainer, "reward_funcs", ()) if inspect.isroutine(f)]
        is_asked = [f for f in functions if _reads(f, self.column)]
        others = [one for one in self.replies if not one.holds_own]
        own = [one for one in self.replies if one.holds_own]
        if not is_asked or min(len(own), len(others)) < FEWEST:
            return
        span = max(self.rewards) - min(self.rewards)
        earns, also = (fmean(one.reward for one in kind) for kind in (own, others))
        said = (
            f"{len(own)} replies hold their own row's answer and earn {earns:.3g} in the mean; "
            f"{len(others)} that hold another row's earn {also:.3g}"
        )
        if span == 0:
            return
        middle = (max(self.rewards) + min(self.rewards)) / 2
        away = [one for one in self.replies if not one.is_of_first]
        by_first = sum((one.reward > middle) == one.holds_first for one in away)
        is_first = len(away) >= FEWEST and by_first >= ALL * len(away)
        error = math.sqrt(sum(_error(kind) ** 2 for kind in (own, others)))
        gap, names = earns - also, _names(trainer, is_asked)
        if not is_first and gap < -max(ERRORS * error, MORE * span):
            seen = {"place": names, "specimen": self.specimen}
            sheet.find("reward_against_answer", MEASURED, said, **seen)
            return
        if not is_first and (gap > ERRORS * error or gap + ERRORS * error > MORE * span):
            write = sheet.clear if gap > ERRORS * error else sheet.show
            write("rewards by answers", said)
            return
        more: tuple[str, ...] = ()
        why = f"the reward does not follow the column {self.column!r} of its own row"
        advice = f"let {names} compare each reply with its own {self.column}: "
        advice += f"zip(completions, {self.column})"
        if is_first:
            more = (f"in {by_first} of {len(away)} replies to other rows the first row's decides",)
            why = (
                f"the reward compares every reply of a batch with {self.column}[0], the answer of "
                "the first row"
            )
        sheet.find(
            "reward_of_other_row",
            COUNTED if more else MEASURED,
            said,
            *more,
            place=names,
            why=why,
            advice=advice,
            specimen=self.specimen,
        )


def _names(trainer: Any, functions: Sequence[Callable]) -> str:
    named = zip(reward_names(trainer), trainer.reward_funcs, strict=False)
    return ", ".join(name for name, f in named if f in functions)


def _error(replies: list[Reply]) -> float:
    """The standard error of their mean reward."""
    return math.sqrt(variance(one.reward for one in replies) / len(replies))


def _is_answer(name: str, value: Any) -> bool:
    return name != "prompt" and isinstance(value, str | int | float)


def _words(text: str) -> list[str]:
    """Words and numbers, without the marks around them.

    >>> _words("It was -3.5, or charming.")
    ['it', 'was', '-3.5', 'or', 'charming']
    """
    plain = "".join(c if c.isalnum() or c in ".-" else " " for c in text.lower())
    return [word for part in plain.split() if (word := part.rstrip(".-"))]


def _reads(function: Callable, column: str) -> bool:
    """Whether a reward function names this column, so that it is meant to read it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return False
    return column in code.co_varnames or column in code.co_consts
