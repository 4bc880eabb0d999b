"""Exercise 02.2: the core of a bisection, judged by synthetic interactions of settings."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from course_utils.checks.declare import Criterion, Exercise

# Names that no reader has seen, in no order, so that none can be known beforehand.
SETTINGS = (
    "optim",
    "beta",
    "seed",
    "top_p",
    "lr",
    "dtype",
    "accum",
    "clip",
    "packing",
    "tf32",
    "k",
)
MANY = tuple(f"setting {n * 37 % 64}" for n in range(64))
MAX_PROBES = 300  # the text says so; one by one takes 65
FAR_APART = (MANY[-3:], (MANY[0], MANY[31], MANY[63]), (MANY[5], MANY[6], MANY[40], MANY[58]))
SHOWN = 4  # names of a long answer that a message repeats
FEW_PROBES = 24  # of 64 settings; bisection needs 6 to 12


class _NoEnd(BaseException):
    """Not an Exception, so that an answer that catches those ends as well."""


def dying_of(*causes: tuple[str, ...]) -> tuple[Callable, list[tuple[str, ...]]]:
    """A made-up `dies` that holds when one of the causes is switched on, and what it was asked."""
    asked: list[tuple[str, ...]] = []

    def dies(settings: Sequence[str]) -> bool:
        if isinstance(settings, str):
            raise TypeError(
                f"dies() takes a tuple, list or set of settings, not {settings!r} alone"
            )
        asked.append(tuple(settings))
        if len(asked) > MAX_PROBES:
            raise _NoEnd
        return any(set(cause) <= set(asked[-1]) for cause in causes)

    return dies, asked


def said(settings: Sequence[str]) -> str:
    shown = [str(name) for name in settings]
    if len(shown) > len(SETTINGS):
        shown[SHOWN:] = [f"{len(shown) - SHOWN} more"]
    return " + ".join(shown) or "nothing"


def found_by(find_cause, names: tuple[str, ...], causes: tuple) -> tuple[object, int]:
    """What `find_cause` gives and how often it asked; None if it does not end."""
    dies, asked = dying_of(*causes)
    try:
        return find_cause(names, dies), len(asked)
    except BaseException:
        if len(asked) > MAX_PROBES:
            return None, len(asked)
        raise


def no_smallest_set(find_cause, names: tuple[str, ...], *causes: tuple[str, ...]) -> str | None:
    """What is wrong with what `find_cause` finds; None when it is a smallest failing set."""
    many = "1 setting" if len(names) == 1 else f"{len(names)} settings"
    given = f"{many} that die of {' or of '.join(map(said, causes))}"
    found, num_probes = found_by(find_cause, names, causes)
    if num_probes > MAX_PROBES:
        return f"for {given} it asked more than {MAX_PROBES} times, and was stopped"
    if not isinstance(found, Iterable):
        return f"for {given} it gives {found!r}, which is no set of settings"
    found, (dies, _) = tuple(found), dying_of(*causes)
    if len(found) > len(set(found)):
        return f"for {given} it gives {said(found)}, which names one setting twice"
    if not dies(found):
        return f"for {given} it gives {said(found)}, which does not die"
    spare = [name for name in found if dies([other for other in found if other != name])]
    if spare:
        return f"for {given} it gives {said(found)}, which also dies without {spare[0]}"
    return None


def gives_a_set_of_settings(find_cause) -> str | None:
    names = SETTINGS[:4]
    found, num_probes = found_by(find_cause, names, (names[:1],))
    if num_probes > MAX_PROBES:
        return None  # a criterion says so
    if not isinstance(found, tuple | list | set | frozenset):
        return f"it gives {found!r}; a tuple, a list or a set of settings is asked"
    strangers = [name for name in found if name not in names]
    return f"it gives {strangers[0]!r}, which is none of the settings" if strangers else None


def first_problem(find_cause, size: int) -> str | None:
    causes = list(combinations(SETTINGS, size))
    found = (no_smallest_set(find_cause, SETTINGS, cause) for cause in causes)
    return next(filter(None, found), None)


def finds_one(find_cause) -> str | None:
    few = (no_smallest_set(find_cause, SETTINGS[:n], (SETTINGS[n - 1],)) for n in (1, 2, 3, 5))
    return next(filter(None, few), None) or first_problem(find_cause, 1)


def finds_pairs(find_cause) -> str | None:
    for size in (2, 3):
        if problem := first_problem(find_cause, size):
            return problem
    for number in (4, len(SETTINGS)):  # all of them are needed
        if problem := no_smallest_set(find_cause, SETTINGS[:number], SETTINGS[:number]):
            return problem
    found = (no_smallest_set(find_cause, MANY, cause) for cause in FAR_APART)
    return next(filter(None, found), None)


def finds_one_of_several(find_cause) -> str | None:
    one, two, three, four, five, six, seven, *_ = SETTINGS
    several = (
        ((four,), (seven,)),
        ((one, six), (two, five, seven)),
        ((one, two), (two, three)),
        ((five,), (one, two)),
    )
    found = (no_smallest_set(find_cause, SETTINGS, *causes) for causes in several)
    return next(filter(None, found), None)


def asks_seldom(find_cause) -> str | None:
    most = 0
    for name in MANY:
        if problem := no_smallest_set(find_cause, MANY, (name,)):
            return problem
        most = max(most, found_by(find_cause, MANY, ((name,),))[1])
    if most <= FEW_PROBES:
        return None
    return f"one cause among {len(MANY)} settings took up to {most} runs; {FEW_PROBES} suffice"


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
        "If one half of the settings dies, continue with it. What if neither half dies alone?",
        "Then the cause lies in both halves. Find the shortest prefix settings[:n] that dies, by "
        "halving. Its last setting belongs to the cause.",
        "Keep that setting switched on in every later probe. Which settings can be dropped from "
        "the list now, and when are you done?",
    ),
    form=gives_a_set_of_settings,
    criteria=(
        Criterion(
            "It finds the one setting that kills, wherever it stands.",
            finds_one,
            why="this is the most common case, and it needs the fewest runs",
            next="try it by hand on four settings, of which the last one kills",
        ),
        Criterion(
            "It finds two, three or more settings that kill only together.",
            finds_pairs,
            why="if the cause has settings in both halves, neither half dies alone",
            next="when neither half dies, keep something of both, and continue until the set dies",
        ),
        Criterion(
            "With several causes it finds one of them, and no other setting.",
            finds_one_of_several,
            why="with two causes, each single setting can be left out, yet each cause is real",
            next="leave out permanently what was not needed, then ask again",
        ),
        Criterion(
            "It needs few runs when there is one cause among 64 settings.",
            asks_seldom,
            why="a run costs minutes on a real cluster, and each one kills a job",
            next="halve what is left instead of testing it one by one",
        ),
    ),
    answer=search_by_prefix,
)
