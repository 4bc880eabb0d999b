"""Checks the form of an exam answer: a dict of edits and faults."""

from collections.abc import Callable

from course_utils.causes.kinds import CLASSES
from course_utils.oncall.report import BadReport, check_class

KEYS = ("edits", "faults")
IN_EDIT = "a tuple of three texts: the file, the old text, the new text"
IN_FAULT = "a tuple of three texts: the file, the place in it, the class"
MOST_EDITS = 60


def form_of(num_faults: int) -> Callable[[dict], str | None]:
    """A check of an answer's form, for a ticket with that many faults."""

    def has_the_form(answer: dict) -> str | None:
        if set(answer) != set(KEYS):
            given = ", ".join(sorted(map(str, answer))) or "none"
            return f"the keys {' and '.join(KEYS)} are asked; given are {given}"
        for key, asked in zip(KEYS, (IN_EDIT, IN_FAULT), strict=True):
            if seen := _no_triples(key, answer[key], asked):
                return seen
        if len(answer["edits"]) > MOST_EDITS:
            return f"edits has {len(answer['edits'])} entries, and at most {MOST_EDITS} are taken"
        if len(answer["faults"]) != num_faults:
            return f"faults has {len(answer['faults'])} entries, and the ticket asks {num_faults}"
        return next(filter(None, (_no_class(kind) for *_, kind in answer["faults"])), None)

    return has_the_form


def _no_triples(key: str, listed: object, asked: str) -> str | None:
    if not isinstance(listed, list | tuple):
        return f"{key} is a list; given is a {type(listed).__name__}"
    for one in listed:
        is_triple = isinstance(one, list | tuple) and len(one) == 3
        if not is_triple or not all(isinstance(part, str) for part in one):
            return f"each of {key} is {asked}; given is {one!r:.80}"
    return None


def _no_class(kind: str) -> str | None:
    try:
        check_class(kind)
    except BadReport as bad:
        return f"{bad}: {', '.join(CLASSES)}"
    return None if kind else "a class is still empty"
