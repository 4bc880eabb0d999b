"""Plants faults into a healthy folder, and locates them there. Runs nothing."""

import ast
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from course_utils.oncall.binaries import DATA, HANDED_OVER
from course_utils.oncall.declare import Case, Change, Fault, Files

NEAR = 3  # lines around the planted ones that a report may name as well
WORD = re.compile(r"[A-Za-z_]\w+")
KEYWORDS = {*keyword.kwlist, "self", "cfg", "float", "int", "str", "len", "zip"}
KEYWORDS |= {"to", "of", "at", "on", "by", "no"}  # words of a sentence
MOST_LINES = 5  # a name in more lines of its file says no place


@dataclass(frozen=True)
class Place:
    """The place of a fault in the folder that is handed out.

    Attributes:
        lines: numbers of lines, counted from 1, that a report may give; none for data.
        names: words that a report may give, in small letters: the functions around it, the names
            in the lines that differ, a key, a column.
    """

    file: str
    lines: frozenset[int]
    names: frozenset[str]


def changed(files: Files, changes: Iterable[Change]) -> Files:
    """The files with these changes, one after the other."""
    for change in changes:
        files = change.apply(files)
    return files


def broken(case: Case, healthy: Files, *, mended: frozenset[int] = frozenset()) -> Files:
    """The files with the faults of a case, except those at the positions in `mended`."""
    for number, fault in enumerate(case.faults):
        if number not in mended:
            healthy = changed(healthy, fault.plant)
    return healthy


def versions(case: Case, healthy: Files) -> list[Files]:
    """The healthy files, the broken ones, and those with all faults but one."""
    parts = [broken(case, healthy, mended=frozenset({n})) for n in range(len(case.faults))]
    return [healthy, broken(case, healthy), *parts]


def places(
    case: Case,
    healthy: Files,
    written: Callable[[Files], Files] = lambda files: files,
    named: Callable[[str, str], tuple[str, str]] = lambda file, word: (file, word),
) -> tuple[tuple[Place, ...], ...]:
    """The place of each fault, in the order of the case; a fault may have several places.

    Args:
        written: the files as this ticket writes them.
        named: the file and the name that this ticket has for a word of a file.
    """
    _, whole, *parts = map(written, versions(case, healthy))
    return tuple(
        (*_of_plant(part, whole), *_named(fault, named))
        for fault, part in zip(case.faults, parts, strict=True)
    )


def fixed_elsewhere(
    planted: tuple[tuple[Place, ...], ...], healthy: Files, handed: Files, fixed: Files
) -> tuple[tuple[Place, ...], ...]:
    """The places of each fault, with those of changes elsewhere where it was not simply undone.

    A change at the place of one fault is none of another.
    """
    changes = [
        place
        for file in {**handed, **fixed}
        for place in _changes(file, fixed.get(file, ""), handed.get(file, ""))
    ]
    found = []
    for own in planted:
        others = [place for other in planted if other is not own for place in other]
        free = [one for one in changes if not any(_overlap(one, place) for place in others)]
        found.append(own if _is_undone(own, healthy, handed, fixed) else (*own, *free))
    return tuple(found)


def _overlap(one: Place, other: Place) -> bool:
    shared = one.lines & other.lines if other.lines else one.names & other.names
    return one.file == other.file and bool(shared)


def _is_undone(own: tuple[Place, ...], healthy: Files, handed: Files, fixed: Files) -> bool:
    """Whether the lines of a fault are those of the healthy files again."""
    for place in own:
        was, now, is_now = (of.get(place.file, "") for of in (handed, healthy, fixed))
        if place.file.endswith(DATA):
            if now not in (was, is_now):
                return False
            continue
        for lines, old, new in _blocks(now, was):
            if place.lines & lines and (new not in is_now or (not new and old in is_now)):
                return False
    return True


def _blocks(healthy: str, handed: str) -> Iterator[tuple[set[int], str, str]]:
    """Runs of lines that differ: their numbers in `handed`, and both texts."""
    new, old = healthy.splitlines(), handed.splitlines()
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, new, old, autojunk=False).get_opcodes():
        if tag != "equal":
            lines = set(range(j1 + 1, max(j2, j1 + 1) + 1))
            yield lines, "\n".join(old[j1:j2]), "\n".join(new[i1:i2])


def _of_plant(without: Files, whole: Files) -> list[Place]:
    return [
        _place(file, without.get(file, ""), text)
        for file, text in whole.items()
        if without.get(file) != text
    ]


def _named(fault: Fault, named: Callable[[str, str], tuple[str, str]]) -> list[Place]:
    also = [named(*place.split(maxsplit=1)) for place in fault.also_places]
    return [Place(file, frozenset(), frozenset({word.lower()})) for file, word in also]


def _place(file: str, before: str, after: str) -> Place:
    """Where two texts of a file differ, as one place with the lines of `after`."""
    changes = _changes(file, before, after)
    lines = frozenset().union(*(change.lines for change in changes))
    return Place(file, lines, frozenset().union(*(change.names for change in changes)))


def _changes(file: str, before: str, after: str) -> list[Place]:
    """Each run of lines that differ, as a place with the lines of `after`."""
    if before == after:
        return []
    if file.endswith(DATA):
        return [Place(file, frozenset(), frozenset({"", "rows", "data"}))]
    old, new = before.splitlines(), after.splitlines()
    everywhere = Counter(word for line in {*old, *new} for word in _words([line]))
    found = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        first, end = j1 + 1, max(j2, j1 + 1) + 1
        words = {w for w in _words([*old[i1:i2], *new[j1:j2]]) if everywhere[w] <= MOST_LINES}
        if file.endswith(".py"):
            words |= _around(after, set(range(first, end)))
            words |= _around(before, set(range(i1 + 1, i2 + 1)))
        lines = frozenset(range(first - NEAR, end + NEAR))
        found.append(Place(file, lines, frozenset(word.lower() for word in words)))
    return found


def _words(lines: list[str]) -> set[str]:
    """The names in lines of code, without comments and keywords."""
    return set(WORD.findall("\n".join(line.partition("#")[0] for line in lines))) - KEYWORDS


def _around(source: str, lines: set[int]) -> set[str]:
    """The functions and classes that contain these lines, decorators included."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    try:
        found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    except (SyntaxError, ValueError, RecursionError):  # of a file that was handed in
        return set()
    return {n.name for n in found if lines & set(range(_first_line(n), n.end_lineno + 1))}


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def is_at(place: Place, file: str, where: str) -> bool:
    """Whether a report's place is this one: the file, and a line or a name that belongs there.

    >>> place = Place("train.py", frozenset({7, 8}), frozenset({"load_model"}))
    >>> is_at(place, "./train.py", "line 8"), is_at(place, "train.py", "load_model()")
    (True, True)
    >>> is_at(place, "train.py", ""), is_at(place, "data.py", "8")
    (False, False)
    >>> is_at(place, "train.py", "the return of load_model()")
    True
    >>> is_at(place, "train.py", "main, evaluate, train, load_model")
    False
    """
    whole = place.file.rpartition("/")[0] if place.file.endswith(HANDED_OVER) else ""
    named = file.strip().removeprefix("./").rstrip("/").lower()
    if named not in (place.file.lower(), whole.lower() or None):  # a checkpoint as a whole
        return False
    if "" in place.names:
        return True
    words = set(WORD.findall(where.lower()))
    names = words - FILLERS or words
    numbers = {int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", where)}
    if len(names) > MOST_NAMES or len(numbers) > MOST_NUMBERS:
        return False
    return bool(names & place.names or numbers & place.lines)


# More are a list of guesses, not a place. Of 247 right reports by others none has more than one; a
# line that is quoted, such as `reference = copy.copy(model)`, has three.
MOST_NAMES, MOST_NUMBERS = 3, 2
FILLERS = KEYWORDS | {"the", "line", "lines", "function", "method", "key"}
