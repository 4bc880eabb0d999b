"""What is known of one cause, in one record."""

from dataclasses import dataclass

from course_utils.causes.harms import TRAINING

CERTAIN, LATER, WARNED, WEAK = 10.0, 9.0, 6.0, 5.5


def keys(words: str) -> frozenset[str]:
    """The keys of causes, with blanks between them."""
    return frozenset(words.split())


@dataclass(frozen=True)
class Phrase:
    """Words of a library that name a cause outright: a regular expression, and how surely."""

    pattern: str
    weight: float = CERTAIN


@dataclass(frozen=True)
class Cause:
    """One thing that can be wrong with a run, or `healthy` and only looks wrong.

    Attributes:
        key: its name, which rules and looks write down.
        says: what is wrong; `fix`: what to do; `look`: where to look next.
        lesson: the stem of the lesson about it; `met`: words of that lesson where it is met.
        instrument: the one to reach for; `thread`: where it was reported.
        neutral: healthy, and no sign of health either.
        kinds: of failure that it can be (`causes.kinds.CLASSES`).
        where: it is at work; `harm`: what it does to the model, one of `causes.harms`.
        damages: what shows that it did: the "ends" of replies, "numbers", or the "length".
        leaves_open: what may have made it and what would tell, where a log alone cannot.
        would_show: what would measure the harm, where that is not an evaluation of everything.
        explains: causes that follow from it, and are not said beside it where it is as strong.
        rivals: of those, the ones that a log cannot tell from it, so that it says both.
        inferred: a log shows what it leads to, and other causes lead there as well.
        raises_first_loss: the first loss of a run may stand above that of guessing.
        hidden_by_low_loss: its loss is one that healthy runs have.
        follows: names of the numbers of a diagnosis that are its consequences.
        speaks_of: names of what may be fine for itself and is no sign of health beside it.
        one_fix: the first thing to do, where `fix` holds several.
        settings_fix: the change of settings that is the fix (`diagnosis.fixes.CHANGES`).
        names: what instruments call it.
        phrases: words of libraries that name it, `signal` and `exit_code` that end a process.
        answered_by: what answers a warning of the start, in a run that goes on: "the run", or a
            setting of that name (`explain.beside`), or that the log speaks of "no merge".
        is_last_word: its phrases count only in a line that says nothing else.
        beside: what stands beside a log of it decides which of its things it is
            (`explain.deciding`), by this name.
        complaints: that people voice (`explain.complaints`), each with this cause's place.
    """

    key: str
    says: str
    fix: str
    look: str
    lesson: str = ""
    met: str = ""
    instrument: str = ""
    thread: str = ""
    healthy: bool = False
    neutral: bool = False
    kinds: tuple[str, ...] = ()
    where: str = TRAINING
    harm: str = ""
    damages: str = ""
    leaves_open: str = ""
    would_show: str = ""
    explains: frozenset[str] = frozenset()
    rivals: frozenset[str] = frozenset()
    inferred: bool = False
    raises_first_loss: bool = False
    hidden_by_low_loss: bool = False
    follows: frozenset[str] = frozenset()
    speaks_of: frozenset[str] = frozenset()
    one_fix: str = ""
    settings_fix: str = ""
    names: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    signal: int = 0
    exit_code: int | None = None
    answered_by: str = ""
    is_last_word: bool = False
    beside: str = ""
    complaints: tuple[tuple[str, int], ...] = ()
