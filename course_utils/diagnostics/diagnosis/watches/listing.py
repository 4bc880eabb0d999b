"""Counts replies that list several answers, and whether they earn as much as the answer alone."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.diagnostics.diagnosis.measures.pricing import answer_of
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.libraries.trl import reward_names

PAID = 0.95  # of what the answer alone earns
MOST, FEWEST = 256, 3  # answers that are kept; replies with the answer before others, and behind
WORD = re.compile(r"\w+")
JOINS = {"or", "and", "either", "maybe", "also"}  # words between answers


@dataclass
class Listing:
    """Of replies that are nothing but answers of the data set, those that list several."""

    answers: set[str] = field(default_factory=set)
    alone: list[float] = field(default_factory=list)  # earned by the row's own answer alone
    listed: list[float] = field(default_factory=list)  # by lists in which it stands
    before: int = 0  # of the lists, those in which it is not the last
    behind: int = 0  # and not the first
    specimen: tuple[str, ...] = ()
    least: float = math.inf  # of all rewards
    most: float = -math.inf
    kind: str = ""  # of the column that holds the answers, where they are numbers

    def read(
        self, rows: Any, said: Callable[[], Sequence[str]], rewards: Sequence[float] | None
    ) -> None:
        """Count the replies of a batch; a row whose answer has several words is left out."""
        if not isinstance(rows, list) or rewards is None or len(rows) != len(rewards):
            return
        self.least, self.most = min(self.least, *rewards), max(self.most, *rewards)
        own = [WORD.findall(answer_of(row)) if isinstance(row, Mapping) else [] for row in rows]
        singles = [words[0] for words in own if len(words) == 1]
        self.answers |= set(singles) if len(self.answers) < MOST else set()
        texts = said() if singles else ()
        for row, words, text, reward in zip(rows, own, texts, rewards, strict=False):
            heard = [word for word in WORD.findall(text) if word.lower() not in JOINS]
            is_read = len(words) == 1 and words[0] in heard and set(heard) <= self.answers
            if is_read and not self._is_given(words[0], row):
                self.kind = self.kind or _kind_of_number(words[0], row)
                self._count(words[0], heard, text, reward)

    def _is_given(self, answer: str, row: Mapping) -> bool:
        """Whether the prompt holds this answer and no other: then it is a word that is to be used,
        and nothing that is to be found."""
        return self.answers & set(WORD.findall(str(row.get("prompt")))) == {answer}

    def _count(self, answer: str, said: list[str], text: str, reward: float) -> None:
        if len(set(said)) == 1:
            self.alone += [reward] * (len(said) == 1)
            return
        self.listed.append(reward)
        self.before += said[-1] != answer
        self.behind += said[0] != answer
        self.specimen = (f"{quoted(text)} earns {reward:.3g}; the row's answer is {answer!r}",)

    def hint(self, trainer: Any, sheet: Sheet) -> None:
        """Where every reply earns the same: those that are the row's own answer are among them."""
        if len(self.alone) < FEWEST or self.most > self.least or "no_signal" in sheet.hints:
            return
        names, count = ", ".join(reward_names(trainer)), len(self.alone)
        why = (
            f"{names} gives {self.least:.3g} to every reply, also to the {count} whose "
            "only word is the row's own answer"
        )
        advice = f"let {names} pay for the row's own answer: call it on one by hand"
        if self.kind:
            why += (
                f"; the data set holds the answer as {self.kind}, and no text that is cut out of a "
                "reply equals a number"
            )
            advice = f"in {names} compare like with like: {self.kind}(...) of what the reply says"
        if _asks_in_chat(trainer):
            why += "; the prompts are chats, so each completion is a list of messages and no text"
            advice = f"in {names} compare completion[0]['content'], the text of the message"
        sheet.hint("no_signal", why, advice)

    def judge(self, trainer: Any, sheet: Sheet) -> None:
        """Name a reward that asks whether the answer occurs in the reply, wherever it stands."""
        if min(len(self.alone), self.before, self.behind) < FEWEST:
            return
        price = max(self.alone)
        earned = price - self.least  # by the answer, beyond what any reply has
        if earned <= 0 or min(self.listed) - self.least < PAID * earned:
            return
        names = ", ".join(reward_names(trainer))
        sheet.find(
            "reward_pays_junk",
            COUNTED,
            f"{len(self.listed)} replies list several answers with the right one among them, and "
            f"each earns at least {min(self.listed):.3g}; the answer alone earns {price:.3g}",
            place=names,
            why="the reward asks whether the answer occurs in the reply: a reply that lists every "
            "answer earns it all",
            advice="compare the whole reply with the answer, or parse one answer out of it; a "
            "reply that holds several earns 0",
            specimen=self.specimen,
        )


def _kind_of_number(answer: str, row: Mapping) -> str:
    """int or float, where a column of the row is the answer as a number; "" where none is.

    >>> _kind_of_number("3", {"priority": 3}), _kind_of_number("3", {"priority": "3"})
    ('int', '')
    """
    numbers = (one for one in row.values() if type(one) in (int, float) and str(one) == answer)
    return next((type(one).__name__ for one in numbers), "")


def _asks_in_chat(trainer: Any) -> bool:
    rows = getattr(trainer, "train_dataset", None)
    return hasattr(rows, "__len__") and len(rows) > 0 and isinstance(rows[0].get("prompt"), list)
