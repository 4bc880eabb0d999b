"""Exercise 02.2: the core of a bisection, judged by synthetic interactions of settings."""

from collections.abc import Callable, Sequence
from itertools import combinations

from course_utils.diagnostics.bisect import ddmin
from course_utils.exercises.declare import Criterion, Exercise, Wrong

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
    return " + ".join(map(str, settings)) or "nothing"


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
    given = f"{len(names)} settings that die of {' or of '.join(map(said, causes))}"
    found, num_probes = found_by(find_cause, names, causes)
    if num_probes > MAX_PROBES:
        return f"for {given} it asked more than {MAX_PROBES} times, and was stopped"
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


def search_by_quarters_out(settings, dies):
    """Leaves out ever smaller pieces; the set that is left is as small as ddmin's."""
    kept, size = list(settings), len(settings)
    while size:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if dies(fewer):
                kept = fewer
            else:
                start += size
        size //= 2
    return set(kept)


def search_by_quickxplain(settings, dies, background=(), is_new=False):
    """Junker (2004): what one half needs, given the other; then the other way around."""
    if is_new and dies(background):
        return []
    if len(settings) == 1:
        return list(settings)
    middle = len(settings) // 2
    left, right = tuple(settings[:middle]), tuple(settings[middle:])
    second = search_by_quickxplain(right, dies, (*background, *left), True)
    first = search_by_quickxplain(left, dies, (*background, *second), bool(second))
    return [*first, *second]


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


def search_gives_a_name(settings, dies):
    return search_by_prefix(settings, dies)[0]


def search_gives_numbers(settings, dies):
    return [settings.index(name) for name in search_by_prefix(settings, dies)]


def search_says_whether(settings, dies):
    return {name: dies([name]) for name in settings}


def search_asks_for_ever(settings, dies):
    while not dies(()):
        pass


def search_one_and_all_pairs(settings, dies):
    """By number of settings: all alone, then all pairs; three together are never tried."""
    for size in (1, 2):
        for some in combinations(settings, size):
            if dies(some):
                return some
    return settings


def search_keeps_the_neighbour(settings, dies):
    """The end of the shortest prefix that dies, with the setting before it, to be sure."""
    cause = search_by_prefix(settings, dies)
    place = settings.index(cause[0])
    return [*settings[max(place - 1, 0) : place], *cause]


def searched_within(num_runs: int) -> Callable:
    """A search that believes that every further run would die, to save those runs."""

    def search(settings, dies):
        asked = []

        def still_dies(some):
            asked.append(some)
            return len(asked) > num_runs or dies(some)

        return search_by_prefix(settings, still_dies)

    return search


REMEMBERED: dict[object, bool] = {}


def search_with_a_memory(settings, dies):
    """Remembers how each set ended, also when it is another job that is searched."""

    def known(some):
        key = frozenset(some)
        if key not in REMEMBERED:
            REMEMBERED[key] = dies(some)
        return REMEMBERED[key]

    return search_by_prefix(settings, known)


def search_what_worked_before(settings, dies):
    """Tries the cause of the last job that had the same settings first."""
    names = frozenset(settings)
    if names not in LAST_CAUSE or not dies(LAST_CAUSE[names]):
        LAST_CAUSE[names] = search_by_prefix(settings, dies)
    return LAST_CAUSE[names]


LAST_CAUSE: dict[object, list] = {}


def search_by_size(settings, dies):
    """Every set of one, of two, of three, and so on: right in the end, which nobody awaits."""
    sizes = range(1, len(settings) + 1)
    return next(some for n in sizes for some in combinations(settings, n) if dies(some))


def search_names_it_twice(settings, dies):
    return [*search_by_prefix(settings, dies), *search_by_prefix(settings, dies)]


def search_all_causes(settings, dies):
    """Goes on after the first cause, and gives all of them together."""
    rest, found = list(settings), []
    while dies(rest):
        cause = search_by_prefix(rest, dies)
        found += cause
        rest = [name for name in rest if name not in cause]
    return found


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
        "Keep that setting switched on in every later probe. Which settings can be dropped from "
        "the list now, and when are you done?",
    ),
    form=gives_a_set_of_settings,
    criteria=(
        Criterion(
            "It finds the one setting that kills, wherever it stands.",
            finds_one,
            why="this is the common case, and the cheap one",
            next="try it by hand on four settings of which the last one kills",
        ),
        Criterion(
            "It finds two, three or more settings that kill only together.",
            finds_pairs,
            why="settings that lie in both halves kill in neither, and still they are the cause",
            next="when neither half dies, keep something of both, and go on until the set dies",
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
    right=(search_by_prefix, search_by_ddmin, search_by_quarters_out, search_by_quickxplain),
    wrong=(
        Wrong(search_gives_a_name, caught_by=gives_a_set_of_settings),
        Wrong(search_gives_numbers, caught_by=gives_a_set_of_settings),
        Wrong(lambda settings, dies: None, caught_by=gives_a_set_of_settings),
        Wrong(lambda settings, dies: True, caught_by=gives_a_set_of_settings),
        Wrong(search_says_whether, caught_by=gives_a_set_of_settings),
        Wrong(search_asks_for_ever, caught_by=finds_one),
        Wrong(search_keeps_the_neighbour, caught_by=finds_one),
        Wrong(search_names_it_twice, caught_by=finds_one),
        Wrong(search_gives_up, caught_by=finds_one),
        Wrong(search_by_halves, caught_by=finds_pairs),
        Wrong(search_by_recursion, caught_by=finds_pairs),
        Wrong(search_halves_then_stop, caught_by=finds_pairs),
        Wrong(search_each_alone, caught_by=finds_pairs),
        Wrong(search_by_adding, caught_by=finds_pairs),
        Wrong(search_one_and_all_pairs, caught_by=finds_pairs),
        Wrong(searched_within(18), caught_by=finds_pairs),
        Wrong(searched_within(24), caught_by=finds_pairs),
        Wrong(search_by_size, caught_by=finds_pairs),
        Wrong(search_with_a_memory, caught_by=finds_one),
        Wrong(search_what_worked_before, caught_by=finds_one_of_several),
        Wrong(search_what_is_needed, caught_by=finds_one_of_several),
        Wrong(search_all_causes, caught_by=finds_one_of_several),
        Wrong(search_one_by_one, caught_by=asks_seldom),
    ),
)
