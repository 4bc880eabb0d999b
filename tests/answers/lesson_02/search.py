"""Right and wrong answers of exercise 02.2."""

from collections.abc import Callable
from itertools import combinations

from course_utils.diagnostics.processes.bisect import ddmin
from course_utils.exercises.lesson_02 import search
from course_utils.exercises.lesson_02.search import search_by_prefix
from tests.answers import answers_of

right, wrong = answers_of(search.SEARCH)


@right
def search_by_ddmin(settings, dies):
    return ddmin(settings, dies)


@right
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


@right
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


@wrong(caught_by=search.finds_pairs)
def search_by_halves(settings, dies):
    """Half of it dies, so go on with that half; a pair that lies in both halves is never found."""
    while len(settings) > 1:
        middle = len(settings) // 2
        settings = settings[:middle] if dies(settings[:middle]) else settings[middle:]
    return settings


@wrong(caught_by=search.finds_pairs)
def search_by_recursion(settings, dies):
    middle = len(settings) // 2
    if len(settings) > 1 or not dies(settings):
        half = settings[:middle] if dies(settings[:middle]) else settings[middle:]
        return search_by_recursion(half, dies)
    return settings


@wrong(caught_by=search.finds_pairs)
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


@wrong(caught_by=search.finds_pairs)
def search_each_alone(settings, dies):
    return [name for name in settings if dies([name])]


@wrong(caught_by=search.finds_one_of_several)
def search_what_is_needed(settings, dies):
    """All that cannot be left out of the whole; with two causes, nothing is."""
    return [name for name in settings if not dies([n for n in settings if n != name])]


@wrong(caught_by=search.asks_seldom)
def search_one_by_one(settings, dies):
    """Right, but one run a setting."""
    kept = list(settings)
    for name in settings:
        smaller = [other for other in kept if other != name]
        if dies(smaller):
            kept = smaller
    return kept


@wrong(caught_by=search.finds_pairs)
def search_by_adding(settings, dies):
    for number in range(len(settings) + 1):
        if dies(settings[:number]):
            return settings[number - 1 : number]
    return settings


@wrong(caught_by=search.finds_one)
def search_gives_up(settings, dies):
    return tuple(settings)


@wrong(caught_by=search.gives_a_set_of_settings)
def search_gives_a_name(settings, dies):
    return search_by_prefix(settings, dies)[0]


@wrong(caught_by=search.gives_a_set_of_settings)
def search_gives_numbers(settings, dies):
    return [settings.index(name) for name in search_by_prefix(settings, dies)]


@wrong(caught_by=search.gives_a_set_of_settings)
def search_says_whether(settings, dies):
    return {name: dies([name]) for name in settings}


@wrong(caught_by=search.finds_one)
def search_asks_for_ever(settings, dies):
    while not dies(()):
        pass


@wrong(caught_by=search.finds_pairs)
def search_one_and_all_pairs(settings, dies):
    """By number of settings: all alone, then all pairs; three together are never tried."""
    for size in (1, 2):
        for some in combinations(settings, size):
            if dies(some):
                return some
    return settings


@wrong(caught_by=search.finds_one)
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


@wrong(caught_by=search.finds_one)
def search_with_a_memory(settings, dies):
    """Remembers how each set ended, also when it is another job that is searched."""

    def known(some):
        key = frozenset(some)
        if key not in REMEMBERED:
            REMEMBERED[key] = dies(some)
        return REMEMBERED[key]

    return search_by_prefix(settings, known)


@wrong(caught_by=search.finds_one_of_several)
def search_what_worked_before(settings, dies):
    """Tries the cause of the last job that had the same settings first."""
    names = frozenset(settings)
    if names not in LAST_CAUSE or not dies(LAST_CAUSE[names]):
        LAST_CAUSE[names] = search_by_prefix(settings, dies)
    return LAST_CAUSE[names]


LAST_CAUSE: dict[object, list] = {}


@wrong(caught_by=search.finds_pairs)
def search_by_size(settings, dies):
    """Every set of one, of two, of three, and so on: right in the end, which nobody awaits."""
    sizes = range(1, len(settings) + 1)
    return next(some for n in sizes for some in combinations(settings, n) if dies(some))


@wrong(caught_by=search.finds_one)
def search_names_it_twice(settings, dies):
    return [*search_by_prefix(settings, dies), *search_by_prefix(settings, dies)]


@wrong(caught_by=search.finds_one_of_several)
def search_all_causes(settings, dies):
    """Goes on after the first cause, and gives all of them together."""
    rest, found = list(settings), []
    while dies(rest):
        cause = search_by_prefix(rest, dies)
        found += cause
        rest = [name for name in rest if name not in cause]
    return found


wrong(lambda settings, dies: None, caught_by=search.gives_a_set_of_settings)
wrong(lambda settings, dies: True, caught_by=search.gives_a_set_of_settings)
wrong(searched_within(18), caught_by=search.finds_pairs)
wrong(searched_within(24), caught_by=search.finds_pairs)
