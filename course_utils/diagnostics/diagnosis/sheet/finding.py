"""The results of a look: what it found, what is fine, what it only counted, what it missed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from course_utils.causes import CAUSES, Cause
from course_utils.diagnostics.diagnosis.sheet.harm import UNKNOWN, Harm
from course_utils.diagnostics.diagnosis.sheet.unexplained import Odd
from course_utils.diagnostics.diagnosis.verdicts import Verdict, verdict_of
from course_utils.diagnostics.libraries.versions import at_fault
from course_utils.errors import Unreadable

# How directly a cause was seen. A log's own weights end below MEASURED.
COUNTED, MEASURED, LIKELY = 10.0, 8.0, 6.0
LIKELY_IN_A_LOG = 3.75  # above it a log shows the thing itself
LOG = logging.getLogger("course_utils.diagnostics")


@dataclass(frozen=True)
class Found:
    """One cause with its evidence.

    `key` is one of `causes.CAUSES`; `weight` says how directly it was seen; `said` are
    sentences with numbers; `place` is a module, column or setting. `why` and `advice` are more
    specific than the cause's own words, where they are given. `specimen` are lines of the thing
    itself: tokens with their labels, a reply with its reward. `where` is given where the cause is
    at work elsewhere than usual; `follows` are numbers of the run that are its consequences.
    `rivals` says which mechanisms would give the same numbers and which look tells them apart;
    `harm` is what became of the model.
    """

    key: str
    weight: float
    said: tuple[str, ...]
    place: str = ""
    against: tuple[str, ...] = ()
    why: str = ""
    advice: str = ""
    is_of_log: bool = False
    where: str = ""
    specimen: tuple[str, ...] = ()
    follows: tuple[tuple[str, str], ...] = ()
    rivals: str = ""
    harm: Harm = UNKNOWN

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.key, self.where)

    @property
    def cause(self) -> Cause:
        return CAUSES[self.key]

    @property
    def says(self) -> str:
        return self.why or self.cause.says

    @property
    def fix(self) -> str:
        return self.advice or self.cause.fix

    @property
    def is_sure(self) -> bool:
        """Whether it was counted or measured in the run itself, or stands in the log as it is."""
        if self.is_of_log and not self.cause.inferred:
            return self.weight > LIKELY_IN_A_LOG
        return self.weight >= MEASURED or (self.is_of_log and bool(self.specimen))

    @property
    def basis(self) -> str:
        """How it is known, in words."""
        if self.is_of_log:
            return "the log"
        if self.weight >= COUNTED:
            return "counted"
        return "measured" if self.weight >= MEASURED else "likely"


@dataclass
class Sheet:
    """Everything that the looks of one diagnosis wrote down."""

    found: list[Found] = field(default_factory=list)
    cleared: dict[str, str] = field(default_factory=dict)  # judged, and fine -> its number
    shown: dict[str, str] = field(default_factory=dict)  # counted, and not judged -> its number
    usual: set[str] = field(default_factory=set)  # of those, the names of numbers that are no sign
    odd: list[Odd] = field(default_factory=list)  # what no finding may account for
    settings: dict[str, str] = field(default_factory=dict)  # of the run, those that matter
    hints: dict[str, tuple[str, ...]] = field(default_factory=dict)  # on a cause, if it is found
    unseen: dict[str, str] = field(default_factory=dict)  # what was not -> why
    unreadable: dict[str, str] = field(default_factory=dict)  # of those: the library it is due to
    healthy: list[Found] = field(default_factory=list)  # what only looks like a fault
    outcomes: dict[str, str] = field(default_factory=dict)  # of `harm` -> its number
    values: dict[str, Any] = field(default_factory=dict)  # the run's own settings, by name
    kind: str = ""  # of the run, one of `subject`
    writes: bool = False  # whether the model predicts tokens
    rows: list[str] = field(default_factory=list)  # what the first rows hold, and what is learnt
    first_loss: str = ""  # beside that of guessing
    moved: list[str] = field(default_factory=list)  # by group of weights
    to_look_at: list[str] = field(default_factory=list)  # numbers of the log that are no proof
    doubts: list[str] = field(default_factory=list)  # what forbids an all-clear
    settled: list[str] = field(default_factory=list)  # how doubts begin that a look has answered
    loss_now: str = ""  # of the model as it is, where the run's first loss is not known
    broken_forward: str = ""  # the error of a forward pass on the first rows
    ended: str = ""  # the error that ended the run

    def find(self, key: str, weight: float, *said: str, **more) -> None:
        self.found.append(Found(key, weight, said, **more))

    def withdraw(self, key: str) -> bool:
        """Take back what was found, which a later look has refuted; whether there was any."""
        before = len(self.found)
        self.found = [one for one in self.found if one.key != key]
        return len(self.found) < before

    def clear(self, what: str, number: str) -> None:
        self.cleared[what] = number

    def show(self, what: str, number: str, *, usual: bool = False) -> None:
        """Count something. `usual` is a number that many healthy runs have, and so follows from
        no cause."""
        self.shown[what] = number
        if usual:
            self.usual.add(what)

    def became(self, what: str, number: str) -> None:
        """What became of the model, under one of the names of `harm`."""
        self.outcomes.setdefault(what, number)

    def hint(self, key: str, what: str, fix: str, *specimen: str) -> None:
        """What would be the mechanism of a cause and its fix, should a later look find it."""
        self.hints.setdefault(key, (what, fix, *specimen))

    def add(self, other: "Sheet") -> None:
        """Take over what another sheet holds."""
        self.found += other.found
        self.healthy += other.healthy
        self.odd += other.odd
        self.cleared |= other.cleared
        self.shown |= other.shown
        self.usual |= other.usual
        self.unseen |= other.unseen
        self.unreadable |= other.unreadable
        self.settings |= other.settings
        self.hints |= other.hints
        self.outcomes |= other.outcomes
        self.values |= other.values
        self.rows = other.rows or self.rows
        self.moved = other.moved or self.moved
        self.doubts += [doubt for doubt in other.doubts if doubt not in self.doubts]
        for beginning in other.settled:
            self.settle(beginning)
        self.first_loss = other.first_loss or self.first_loss  # the log's, once there is one
        for name in ("kind", "writes", "loss_now", "broken_forward", "ended"):
            setattr(self, name, getattr(self, name) or getattr(other, name))

    def miss(self, what: str, why: str) -> None:
        self.unseen.setdefault(what, why)

    def settle(self, beginning: str) -> None:
        """Take back the doubts that begin so, also those of an earlier sheet."""
        self.settled.append(beginning)
        self.doubts = [one for one in self.doubts if not one.startswith(beginning)]

    def doubt(self, why: str) -> None:
        """Note what keeps a run without a finding from being called one without a fault."""
        if why not in self.doubts:
            self.doubts.append(why)

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """What raises inside is written down, and goes no further."""
        try:
            yield
        except Exception as error:  # a look must never end what it looks at
            self.fail(what, error)

    def fail(self, what: str, error: Exception) -> None:
        """Write down in one line why a look did not succeed; its traceback goes to the log.

        What an installed library does not let it see is no fault of the look.
        """
        if library := at_fault(error):
            self.unreadable.setdefault(what, library)
        if isinstance(error, Unreadable):
            self.miss(what, error.sentence)
            return
        LOG.warning("the look at %s raised; please report it", what, exc_info=error)
        first = str(error).strip().split("\n")[0][:160]
        self.miss(what, f"the look raised {type(error).__name__}: {first}")
        self.doubt(f"the look at {what} raised {type(error).__name__}: {first}")
