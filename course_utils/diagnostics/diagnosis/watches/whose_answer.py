"""Counts whose answer a reward compares with: the one of the reply's own row, or of another."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.diagnostics.diagnosis.measures.pricing import answer_of
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.libraries.trl import reward_names

WORD = re.compile(r"\w+")
SURE, UNSURE = (
    0.98,
    0.9,
)  # of the replies: how often an answer that is compared with fits the reward
FEWEST, BATCHES = 4, 3  # replies against the own answer, each way; batches


@dataclass
class WhoseAnswer:
    """Replies with their reward, and whether they hold their own and the first row's answer."""

    own: list[tuple[bool, float]] = field(default_factory=list)
    first: list[tuple[bool, float]] = field(default_factory=list)
    batches: int = 0
    specimen: tuple[str, ...] = ()

    def read(
        self, rows: Any, said: Callable[[], Sequence[str]], rewards: Sequence[float] | None
    ) -> None:
        """Count the replies of a batch whose rows have different answers."""
        if not isinstance(rows, list) or rewards is None or len(rows) != len(rewards):
            return
        answers = [answer_of(row) if isinstance(row, Mapping) else "" for row in rows]
        if not all(answers) or len(set(answers)) < 2:
            return
        self.batches += 1
        for answer, text, reward in zip(answers, said(), rewards, strict=False):
            self.own.append((_holds(text, answer), reward))
            self.first.append((_holds(text, answers[0]), reward))
            if self.own[-1][0] and reward == min(rewards):
                self.specimen = (
                    f"{quoted(text)} earns {reward:.3g}; the row's answer is {quoted(answer)}, and "
                    f"that of the batch's first row {quoted(answers[0])}",
                )

    def judge(self, trainer: Any, sheet: Sheet) -> None:
        """Name a reward that fits the first row's answer for all replies, and not their own."""
        if self.batches < BATCHES:
            return
        middle = (min(r for _, r in self.own) + max(r for _, r in self.own)) / 2
        unpaid = sum(is_in and r < middle for is_in, r in self.own)
        paid = sum(not is_in and r > middle for is_in, r in self.own)
        fits = [
            sum(is_in == (r > middle) for is_in, r in of) / len(of) for of in (self.own, self.first)
        ]
        if min(unpaid, paid) < FEWEST or fits[0] > UNSURE or fits[1] < SURE:
            return
        names = ", ".join(reward_names(trainer))
        sheet.find(
            "reward_of_other_row",
            COUNTED,
            f"in {self.batches} batches {fits[1]:.0%} of the rewards say whether the reply holds "
            f"the answer of the batch's first row, {fits[0]:.0%} whether it holds its own",
            f"{unpaid} replies with the answer of their row earned little, {paid} without it much",
            place=f"the reward function {names}",
            why=f"{names} compares every reply with the answer of the batch's first row",
            specimen=self.specimen,
        )


def _holds(text: str, answer: str) -> bool:
    """Whether all words of the answer are among the text's."""
    words = WORD.findall(answer)
    return bool(words) and set(words) <= set(WORD.findall(text))
