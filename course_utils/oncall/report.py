"""The form of report.yaml: written empty, read leniently, judged on place and class."""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import permutations

import yaml

from course_utils.causes.kinds import CLASSES
from course_utils.oncall.declare import Case
from course_utils.oncall.planting import Place, is_at

NAME, MAX_CHARS = "report.yaml", 20_000
ENTRY = """\
  - file:        # where the fault is, or where you fixed it (both are right): data/train.jsonl
    where:       # one place: a line as handed out, a function, a key, a tensor; of data, "rows"
    class:       # one of the list below
    cause:       # what is wrong, in a sentence
    evidence:    # the numbers or lines that show it
"""


# In place of the entries, where nothing is wrong.
NONE = "none"
OR_NONE = f"""\
# Is nothing wrong with this run? Change none of its files, and write `faults: {NONE}` here.
"""


class BadReport(Exception):
    """A report that cannot be read; the message says why."""


@dataclass(frozen=True)
class Entry:
    """What a report says about one fault."""

    file: str
    where: str
    kind: str


@dataclass(frozen=True)
class Judged:
    """How many of the faults a report has found, and what is wrong with its form."""

    num_faults: int
    places: int = 0
    classes: int = 0
    problem: str = ""

    @property
    def is_right(self) -> bool:
        return self.places == self.classes == self.num_faults and not self.problem


def form(num_faults: int, *, or_none: bool = False) -> str:
    """An empty report; the list of classes is the same for every ticket.

    Args:
        or_none: say how to report that nothing is wrong.
    """
    known = "\n".join(f"#   {name:<15} {said}" for name, said in CLASSES.items())
    many = "One entry for the fault." if num_faults == 1 else f"{num_faults} entries, one a fault."
    quoted = '# A sentence that holds ": " stands in quotes.'
    none = OR_NONE if or_none else ""
    return f"# {many}\n{none}{quoted}\nfaults:\n{ENTRY * num_faults}\n# The classes:\n{known}\n"


def read(text: str) -> list[Entry]:
    """The entries of a report that are filled in; none where it says that nothing is wrong.

    Raises:
        BadReport: it is not YAML of that form, or names a class that does not exist.
    """
    listed = _listed(text)
    if _is_none(listed):
        return []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise BadReport("it must hold `faults:` with one entry a fault, each begun with `- file:`")
    entries = [Entry(*(_said(one, key) for key in ("file", "where", "class"))) for one in listed]
    entries = [entry for entry in entries if entry.file or entry.where or entry.kind]
    for entry in entries:
        check_class(entry.kind)
    return entries


def says_none(text: str | None) -> bool:
    """Whether a report says that nothing is wrong; an empty form does not.

    >>> says_none("faults: none"), says_none("faults: []"), says_none(form(1))
    (True, True, False)
    """
    try:
        return text is not None and _is_none(_listed(text))
    except BadReport:
        return False


def _is_none(listed: object) -> bool:
    return listed == [] or (isinstance(listed, str) and listed.strip().lower() == NONE)


def _listed(text: str) -> object:
    """What stands under `faults:`.

    Raises:
        BadReport: it is not YAML.
    """
    if len(text) > MAX_CHARS:
        raise BadReport(f"it has more than {MAX_CHARS} characters")
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = " ".join(str(error).split())[:150]
        raise BadReport(f"it is not readable as YAML: {said}") from error
    return data.get("faults") if isinstance(data, dict) else None


def _said(one: dict, key: str) -> str:
    value = one.get(key)  # a list or a mapping may be endless when it is written out
    return str(value).strip()[:300] if isinstance(value, str | int) else ""


def check_class(kind: str) -> None:
    if kind and kind not in CLASSES:
        close = get_close_matches(kind, CLASSES, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise BadReport(f"there is no class {kind[:40]!r}{meant}; the form lists them")


def judge(case: Case, places: tuple[tuple[Place, ...], ...], text: str | None) -> Judged:
    """How many of a case's faults a report has found.

    Each entry counts for one fault, in the order that suits it best.
    """
    whole = len(case.faults)
    if text is None:
        return Judged(whole, problem=f"there is no {NAME}")
    try:
        entries = read(text)
    except BadReport as bad:
        return Judged(whole, problem=str(bad))
    if not entries:
        said = "it says that nothing is wrong" if says_none(text) else "it is still empty"
        return Judged(whole, problem=said)
    if len(entries) > whole:
        return Judged(whole, problem=f"it has {len(entries)} entries, and at most {whole} count")
    entries += [Entry("", "", "")] * (whole - len(entries))
    return Judged(
        whole,
        *max((_num_right(case, places, order) for order in permutations(entries)), key=sum),
    )


def _num_right(case: Case, places: tuple[tuple[Place, ...], ...], entries: tuple[Entry, ...]):
    """The places and classes that are right if the entries match the faults in this order."""
    pairs = list(zip(case.faults, places, entries, strict=True))
    return (
        sum(any(is_at(place, e.file, e.where) for place in own) for _, own, e in pairs),
        sum(e.kind in {fault.kind, *fault.also_kinds} for fault, _, e in pairs),
    )


def message(judged: Judged) -> str:
    """The message to the reader about her report."""
    if judged.problem:
        return f"report: {judged.problem}"
    if judged.num_faults == 1:
        place = "right" if judged.places else "not there"
        kind = "right" if judged.classes else "not this one"
        return f"report: place {place}; class {kind}"
    return (
        f"report: {judged.places} of {judged.num_faults} places and {judged.classes} of "
        f"{judged.num_faults} classes are right"
    )
