"""Counts whether rewards follow the answer of their own row, or that of another one."""

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import ne
from statistics import fmean, variance
from typing import Any

from course_utils.diagnostics.diagnosis.measures.last_replies import rewards_of
from course_utils.diagnostics.diagnosis.measures.pricing import ANSWER, answer_column, answer_of
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.measures.within_rows import gap_within
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.libraries.trl import reward_names

FEWEST = 8  # replies of a kind
MOST = 4096
LONGEST = 40  # characters of an answer that can stand in a reply by its words
MORE = 0.25  # of the range of rewards: with less than that beyond another the own counts little
ERRORS = 2.0  # standard errors by which it must
WITHOUT = 0.5  # of the replies
OUTWEIGHED = 0.1  # of the range of the sums
ALL = 0.98  # of the replies
DISTINCT = 2  # answers
MIXED = 32  # rows with replies of both kinds, from which on replies are compared within a row


@dataclass(frozen=True)
class Reply:
    """A reply that holds an answer of its batch."""

    holds_own: bool
    holds_first: bool  # that of the first row of its batch
    is_of_first: bool  # whether its own answer is that one
    reward: float
    row: int  # counted over all batches; the replies of a group are to one row


@dataclass
class Answers:
    """Replies that hold the answer of their row, or of another one, with their rewards."""

    replies: list[Reply] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)  # by functions that are to read answers
    totals: list[float] = field(default_factory=list)  # by all functions
    num_without: int = 0  # replies that do not hold their row's answer
    of_none: list[float] = field(default_factory=list)  # rewards of those that hold no row's
    specimen: tuple[str, ...] = ()
    column: str = ""
    answers: set[str] = field(default_factory=set)
    num_rows: int = 0  # so far; replies that follow each other to one row are its group

    def read(self, rows: Any, said: Callable[[], Sequence[str]], trainer: Any) -> None:
        """Read a batch; `said` gives its replies. Only rewards that are to read answers count."""
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            return
        own = [answer_of(row).strip().lower() for row in rows]
        if len(self.replies) >= MOST or not all(own):
            return
        if max(map(len, own)) > LONGEST or len(set(own)) < DISTINCT:
            return
        self.column = answer_column(rows[0])
        rewards = rewards_of(trainer, len(rows), self._asked(trainer))
        totals = rewards_of(trainer, len(rows))
        if rewards is None or totals is None:
            return
        self.answers |= set(own)
        self.rewards += rewards
        self.totals += totals
        asked = [(str(row.get("prompt")), answer) for row, answer in zip(rows, own, strict=True)]
        numbers = accumulate(map(ne, asked, asked[1:]), initial=self.num_rows)
        for answer, text, reward, row in zip(own, said(), rewards, numbers, strict=False):
            words = f" {' '.join(_words(text))} "
            held = {one for one in set(own) if f" {' '.join(_words(one))} " in words}
            self.num_without += answer not in held
            if not held:
                self.of_none.append(reward)
                continue
            found = Reply(answer in held, own[0] in held, answer == own[0], reward, row)
            self.replies.append(found)
            if found.holds_own != (reward > min(self.rewards)) and not self.specimen:
                said_so = f"{quoted(text)} earns {reward:.3g}"
                self.specimen = (f"{said_so}; the row's answer is {answer!r}",)
        self.num_rows += len(rows)

    def hint(self, trainer: Any, sheet: Sheet) -> None:
        """Where every reply earns the same: many of them do not hold their row's answer."""
        if not self.rewards or not 0 < min(self.rewards) == max(self.rewards):
            return
        names, whole = ", ".join(self._asked(trainer)), len(self.rewards)
        if not names or self.num_without < max(FEWEST, WITHOUT * whole):
            return
        sheet.hint(
            "no_signal",
            f"{names} gives {self.rewards[0]:.3g} to every reply, also to the {self.num_without} "
            f"of {whole} that do not hold their row's {self.column}: what it looks for may stand "
            "in the prompt",
            f"let {names} read the completion alone, without the prompt before it",
        )

    def judge(self, trainer: Any, sheet: Sheet) -> None:
        """Replies with their row's answer must earn more than those with another row's."""
        names = ", ".join(self._asked(trainer))
        if names and self._are_outweighed(trainer, names, sheet):
            return
        others = [one for one in self.replies if not one.holds_own]
        own = [one for one in self.replies if one.holds_own]
        if not names or min(len(own), len(others)) < FEWEST:
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
        is_first = is_first or _pays_for_first(away, middle)
        gap, error = earns - also, math.sqrt(sum(_error(kind) ** 2 for kind in (own, others)))
        if len(mixed := self._mixed()) >= MIXED:
            gap, error = gap_within(mixed)
            said += f"; of replies to one row the own earn {gap:.2g} more (+- {error:.2g})"
        if not is_first and gap < -ERRORS * error and self._is_turned(earns, gap / span):
            self._is_against(said, names, sheet)
            return
        if not is_first and (gap > ERRORS * error or gap + ERRORS * error > MORE * span):
            write = sheet.clear if gap > ERRORS * error else sheet.show
            write("rewards by answers", said)
            return
        shown = (
            said,
            f"in {by_first} of {len(away)} replies to other rows the first row's decides",
        )
        self._is_of_another_row(shown if is_first else (said,), names, sheet, is_first=is_first)

    def _is_against(self, said: str, names: str, sheet: Sheet) -> None:
        """A column that is not called an answer may hold what a reply must not say."""
        if ANSWER.search(self.column):
            seen = {"place": names, "specimen": self.specimen}
            sheet.find("reward_against_answer", MEASURED, said, **seen)
        else:
            sheet.doubt(f"{said}: the reward is turned round, if {self.column!r} is the answer")

    def _mixed(self) -> list[tuple[list[float], list[float]]]:
        """Of each row with both kinds of replies, the rewards of the own and of the others."""
        rows: dict[int, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for one in self.replies:
            rows[one.row][not one.holds_own].append(one.reward)
        return [kinds for kinds in rows.values() if all(kinds)]

    def _is_of_another_row(
        self, said: tuple[str, ...], names: str, sheet: Sheet, *, is_first: bool
    ) -> None:
        why = f"the reward does not follow the column {self.column!r} of its own row"
        advice = f"let {names} compare each reply with its own {self.column}: "
        advice += f"zip(completions, {self.column})"
        if is_first:
            why = (
                f"the reward compares every reply of a batch with {self.column}[0], the answer of "
                "the first row"
            )
        sheet.find(
            "reward_of_other_row",
            COUNTED if is_first else MEASURED,
            *said,
            place=names,
            why=why,
            advice=advice,
            specimen=self.specimen,
        )

    def _is_turned(self, earns: float, gap: float) -> bool:
        """Whether being wrong is paid as such: with no row's answer at all as well.

        What pays for another row's answer pays nothing for none.
        """
        if len(self.of_none) < FEWEST:
            return gap < -MORE
        return fmean(self.of_none) > earns

    def _asked(self, trainer: Any) -> list[str]:
        """Names of the reward functions that read the column of answers."""
        named = zip(reward_names(trainer), trainer.reward_funcs, strict=False)
        return [name for name, f in named if inspect.isroutine(f) and _reads(f, self.column)]

    def _are_outweighed(self, trainer: Any, names: str, sheet: Sheet) -> bool:
        """Whether replies for which these functions pay most earn less in total than the others."""
        if len(trainer.reward_funcs) < 2 or max(self.rewards) == min(self.rewards):
            return False
        middle = (max(self.rewards) + min(self.rewards)) / 2
        pairs = list(zip(self.rewards, self.totals, strict=True))
        right = [total for paid, total in pairs if paid > middle]
        rest = [total for paid, total in pairs if paid <= middle]
        span = max(self.totals) - min(self.totals)
        if min(len(right), len(rest)) < FEWEST or fmean(right) > fmean(rest) - OUTWEIGHED * span:
            return False
        weights = getattr(trainer, "reward_weights", None)
        weights = [1.0] * len(trainer.reward_funcs) if weights is None else weights.tolist()
        weighed = zip(reward_names(trainer), weights, strict=False)
        sheet.find(
            "answer_outweighed",
            COUNTED,
            f"the {len(right)} replies that {names} pays for earn {fmean(right):.3g} in total, the "
            f"{len(rest)} others {fmean(rest):.3g}",
            f"the weights: {', '.join(f'{name} {weight:g}' for name, weight in weighed)}",
            place="reward_weights",
        )
        return True


def _pays_for_first(away: list[Reply], middle: float) -> bool:
    """Whether no reply to another row is paid without the first row's answer, and its own is not.

    A reward may ask for more than that an answer stands somewhere in the reply.
    """
    paid = [one.holds_first for one in away if one.reward > middle]
    own = [one.reward <= middle for one in away if one.holds_own and not one.holds_first]
    is_enough = min(len(paid), len(own)) >= FEWEST
    return is_enough and sum(paid) >= ALL * len(paid) and sum(own) >= ALL * len(own)


def _error(replies: list[Reply]) -> float:
    """The standard error of their mean reward."""
    return math.sqrt(variance(one.reward for one in replies) / len(replies))


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
