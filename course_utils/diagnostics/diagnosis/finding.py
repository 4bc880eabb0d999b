"""What a look writes down: what it found, what it ruled out, what it could not see."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from course_utils.explain.causes import CAUSES, Cause

# How directly a cause was seen. A log's own weights end below MEASURED.
COUNTED, MEASURED, LIKELY = 10.0, 8.0, 6.0


@dataclass(frozen=True)
class Found:
    """One cause with its evidence.

    `key` is one of `explain.causes.CAUSES`; `weight` says how directly it was seen; `said` are
    sentences with numbers; `place` is a module, column or setting. `why` and `advice` are more
    specific than the cause's own words, where they are given.
    """

    key: str
    weight: float
    said: tuple[str, ...]
    place: str = ""
    against: tuple[str, ...] = ()
    why: str = ""
    advice: str = ""
    is_of_log: bool = False

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
    cleared: dict[str, str] = field(default_factory=dict)  # what was looked at -> its number
    unseen: dict[str, str] = field(default_factory=dict)  # what was not -> why
    healthy: list[Found] = field(default_factory=list)  # what only looks like a fault

    def find(self, key: str, weight: float, *said: str, **more) -> None:
        self.found.append(Found(key, weight, said, **more))

    def clear(self, what: str, number: str) -> None:
        self.cleared[what] = number

    def miss(self, what: str, why: str) -> None:
        self.unseen.setdefault(what, why)

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Whatever fails inside is written down as not seen, and goes no further."""
        try:
            yield
        except Exception as error:  # a look must never end what it looks at
            first = str(error).strip().split("\n")[0][:160]
            self.miss(what, f"the look raised {type(error).__name__}: {first}")
