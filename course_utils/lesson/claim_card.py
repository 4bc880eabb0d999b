"""One claim of an article, with the reader's vote and the verdict so far. Stores nothing."""

from dataclasses import dataclass

from course_utils.shown import page
from course_utils.shown.page import State
from course_utils.shown.report import Shown, Table
from course_utils.shown.wrap import wrapped

LETTERS = {"t": "true", "p": "partly", "f": "false"}
STATES = {"true": State.GOOD, "partly": State.ALARM, "false": State.BAD, "open": State.OPEN}
MARKS = ("✓", "(one step off)", "✗")  # by the steps between vote and verdict
OPEN = "open"  # what no evidence within reach decides; no vote is counted on it


@dataclass(frozen=True)
class Vote:
    """The reader's opinion of one claim, before the evidence."""

    mark: str  # "t", "p" or "f", with "!" when she is sure

    @property
    def word(self) -> str:
        return LETTERS[self.mark[0]]

    @property
    def is_sure(self) -> bool:
        return self.mark.endswith("!")

    def __str__(self) -> str:
        return f"{self.word}, sure" if self.is_sure else self.word


@dataclass(frozen=True)
class Verdict:
    """The verdict of the evidence on one claim."""

    word: str  # "true", "partly", "false" or "open"
    nuance: str
    shown_by: str
    seeds: str = ""  # on how many of the seeds that were tried, such as "9 of 10"
    holds: bool = True  # whether this seed shows it, too

    def __str__(self) -> str:
        word = self.word.upper() + (f" ({self.seeds} seeds)" if self.seeds else "")
        if not self.holds:
            word = f"NOT SHOWN BY THIS SEED, usually {word}"
        return f"{word}: {self.nuance}" if self.nuance else word

    def steps_off(self, vote: Vote) -> int:
        """0 for the same word, 1 for partly beside true or false, 2 for true against false."""
        order = tuple(LETTERS.values())
        return abs(order.index(vote.word) - order.index(self.word))


@dataclass(frozen=True)
class ClaimCard(Shown):
    """A claim with its vote and its verdict so far."""

    id: str  # such as "reward/C4"
    says: str
    source: str = ""
    vote: Vote | None = None
    verdict: Verdict | None = None

    @property
    def is_decided(self) -> bool:
        return bool(self.verdict) and self.verdict.word != OPEN and self.verdict.holds

    @property
    def voted(self) -> str:
        """The vote, and whether the evidence agrees; empty without a vote."""
        if self.vote is None or not self.is_decided:
            return str(self.vote or "")
        return f"{self.vote} {MARKS[self.verdict.steps_off(self.vote)]}"

    def text(self) -> str:
        lines = [f"{self.id}, {self.says!r}{f' ({self.source})' if self.source else ''}"]
        lines += [f"  {self.verdict}"] if self.verdict else []
        lines += [f"  your vote: {self.voted}"] if self.vote else []
        return wrapped("\n".join(lines))

    def html(self) -> str:
        state = STATES[self.verdict.word] if self.verdict else State.OPEN
        shown_by = self.verdict.shown_by if self.verdict else ""
        details = tuple(
            (name, value)
            for name, value in (
                ("said in", self.source),
                ("shown by", shown_by),
                ("your vote", self.voted),
            )
            if value
        )
        found = str(self.verdict or "")
        return page.card(state, self.id, self.says, found=found, details=details)


@dataclass(frozen=True)
class Claims(Table):
    """Claims as a table in a terminal, and as cards on a page."""

    cards: tuple[ClaimCard, ...] = ()

    def html(self) -> str:
        score = page.box(State.PLAIN, "", page.lines(self.notes)) if self.notes else ""
        return "".join(card.html() for card in self.cards) + score


@dataclass(frozen=True)
class Ballot(Shown):
    """The votes as they were understood: a count in a terminal, all of them on a page."""

    cards: tuple[ClaimCard, ...]

    def text(self) -> str:
        votes = [card.vote for card in self.cards if card.vote]
        sure = sum(vote.is_sure for vote in votes)
        return f"{len(votes)} of {len(self.cards)} claims voted on, {sure} of them for sure."

    def html(self) -> str:
        said = (f"{card.id.rpartition('/')[2]} {card.vote or '-'}" for card in self.cards)
        return page.box(State.PLAIN, self.text(), page.lines((" · ".join(said),)))
