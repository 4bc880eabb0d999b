"""Exercise 02.2: the core of a bisection, judged by synthetic interactions of settings."""

from collections.abc import Callable, Sequence
from itertools import combinations

from course_utils.diagnostics.bisect import ddmin
from course_utils.exercises.declare import Criterion, Exercise, Wrong

SETTINGS = tuple(f"s{n}" for n in range(11))
MANY = tuple(f"s{n}" for n in range(64))
MAX_PROBES = 300  # a search that asks this often does not end; one by one takes 65
FEW_PROBES = 24  # of 64 settings; bisection needs 6 to 12


class _NoEnd(BaseException):
    """Not an Exception: it belongs to the check, and must not be taken for the student's."""


class _Oracle:
    """Says whether a set of settings dies, and counts how often it was asked."""

    def __init__(self, *causes: tuple[str, ...]) -> None:
        self.causes, self.num_probes = [set(cause) for cause in causes], 0

    def __call__(self, settings: Sequence[str]) -> bool:
        self.num_probes += 1
        if self.num_probes > MAX_PROBES:
            raise _NoEnd
        return any(cause <= set(settings) for cause in self.causes)


def _said(settings: Sequence[str]) -> str:
    return "+".join(settings) or "nothing"


def _search(find_cause, names: tuple[str, ...], *causes: tuple[str, ...]) -> str | None:
    """What is wrong with what `find_cause` finds; None when it is a smallest failing set."""
    given = f"{len(names)} settings that die of {' or of '.join(map(_said, causes))}"
    try:
        found = find_cause(names, _Oracle(*causes))
    except _NoEnd:
        return f"for {given} it asked {MAX_PROBES} times, and did not end"
    if not isinstance(found, tuple | list | set | frozenset):
        return f"for {given} it gives {found!r}; give a tuple, a list or a set of settings"
    found = tuple(found)
    dies = _Oracle(*causes)
    if not dies(found):
        return f"for {given} it gives {_said(found)}, which does not die"
    spare = [name for name in found if dies([other for other in found if other != name])]
    if spare:
        return f"for {given} it gives {_said(found)}, which also dies without {spare[0]}"
    return None


def _first_problem(find_cause, size: int) -> str | None:
    found = (_search(find_cause, SETTINGS, cause) for cause in combinations(SETTINGS, size))
    return next(filter(None, found), None)


def finds_one(find_cause) -> str | None:
    return _first_problem(find_cause, 1)


def finds_pairs(find_cause) -> str | None:
    return _first_problem(find_cause, 2) or _first_problem(find_cause, 3)


def finds_one_of_several(find_cause) -> str | None:
    return (
        _search(find_cause, SETTINGS, ("s3",), ("s8",))
        or _search(find_cause, SETTINGS, ("s1", "s9"), ("s2", "s7", "s10"))
        or _search(find_cause, SETTINGS, ("s0", "s5"), ("s5", "s6"))
    )


def asks_seldom(find_cause) -> str | None:
    most = 0
    for name in MANY:
        if problem := _search(find_cause, MANY, (name,)):
            return problem
        oracle = _Oracle((name,))
        find_cause(MANY, oracle)
        most = max(most, oracle.num_probes)
    if most <= FEW_PROBES:
        return None
    return f"one cause among {len(MANY)} settings took up to {most} runs; {FEW_PROBES} suffice"


def search_by_ddmin(settings, dies):
    return ddmin(settings, dies)


def search_by_prefix(settings, dies):
    """The shortest prefix that dies ends in a setting of the cause; keep it, and go on."""
    cause, rest = [], list(settings)
    while not dies(cause):
        short, long = 0, len(rest)
        while long - short > 1:
            middle = (short + long) // 2
            if dies(cause + rest[:middle]):
                long = middle
            else:
                short = middle
        cause.append(rest[long - 1])
        rest = rest[: long - 1]
    return cause


def search_by_halves(settings, dies):
    """Half of it dies, so go on with that half; a pair that lies in both halves is never found."""
    while len(settings) > 1:
        middle = len(settings) // 2
        settings = settings[:middle] if dies(settings[:middle]) else settings[middle:]
    return settings


def search_by_recursion(settings, dies):
    middle = len(settings) // 2
    if len(settings) > 1 or not dies(settings):
        half = settings[:middle] if dies(settings[:middle]) else settings[middle:]
        return search_by_recursion(half, dies)
    return settings


def search_halves_then_stop(settings, dies):
    while len(settings) > 1:
        middle = len(settings) // 2
        if dies(settings[:middle]):
            settings = settings[:middle]
        elif dies(settings[middle:]):
            settings = settings[middle:]
        else:
            break
    return settings


def search_each_alone(settings, dies):
    return [name for name in settings if dies([name])]


def search_what_is_needed(settings, dies):
    """All that cannot be left out of the whole; with two causes, nothing is."""
    return [name for name in settings if not dies([n for n in settings if n != name])]


def search_one_by_one(settings, dies):
    """Right, but one run a setting."""
    kept = list(settings)
    for name in settings:
        smaller = [other for other in kept if other != name]
        if dies(smaller):
            kept = smaller
    return kept


def search_by_adding(settings, dies):
    for number in range(len(settings) + 1):
        if dies(settings[:number]):
            return settings[number - 1 : number]
    return settings


def search_gives_up(settings, dies):
    return tuple(settings)


SEARCH = Exercise(
    id="02.2",
    name="SEARCH",
    title="The core of a bisection",
    minutes=12,
    difficulty="a small function",
    points=5,
    reads="find_cause",
    expects=(Callable,),
    hints=(
        "Half of the settings dies: go on with it. What if neither half dies by itself?",
        "Then the cause lies in both. Find the shortest prefix settings[:n] that dies, by halving; "
        "its last setting belongs to the cause.",
        "Keep that setting switched on in every later probe, drop it and all after it from the "
        "list, and repeat until what you keep dies by itself.",
    ),
    criteria=(
        Criterion(
            "It finds the one setting that kills, wherever it stands.",
            finds_one,
            why="this is the common case, and the cheap one",
            next="try it by hand on four settings of which the last one kills",
        ),
        Criterion(
            "It finds two or three settings that kill only together.",
            finds_pairs,
            why="halving alone loses a pair that is split between the halves",
            next="when neither half dies, keep something of both",
        ),
        Criterion(
            "With several causes it finds one of them, and nothing besides.",
            finds_one_of_several,
            why="with two causes no setting is indispensable, and still each cause is real",
            next="leave out for good what was not needed, then ask again",
        ),
        Criterion(
            "It needs few runs when there is one cause among 64 settings.",
            asks_seldom,
            why="a run costs minutes on a real cluster, and each one kills a job",
            next="halve what is left instead of going through it one by one",
        ),
    ),
    right=(search_by_prefix, search_by_ddmin),
    wrong=(
        Wrong(search_gives_up, caught_by=finds_one),
        Wrong(search_by_halves, caught_by=finds_pairs),
        Wrong(search_by_recursion, caught_by=finds_pairs),
        Wrong(search_halves_then_stop, caught_by=finds_pairs),
        Wrong(search_each_alone, caught_by=finds_pairs),
        Wrong(search_by_adding, caught_by=finds_pairs),
        Wrong(search_what_is_needed, caught_by=finds_one_of_several),
        Wrong(search_one_by_one, caught_by=asks_seldom),
    ),
)
