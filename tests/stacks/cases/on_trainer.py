"""The cases that are the same for every Trainer: healthy, NaN in a weight, all labels ignored."""

from collections.abc import Callable
from functools import partial

from . import answers
from .answers import NAN_CAUSES
from .case import FOUND, SILENCE, Case, Expected, first
from .tiny import broken_model

DIAGNOSES = {
    "diagnose": answers.diagnosed,
    "diagnose steps=3": partial(answers.diagnosed, steps=3),
    "diagnose after train": answers.diagnosed_after,
    "callback": answers.called_back,
    "audit_step": answers.audited,
}
OTHERS = {
    "watch": answers.watched,
    "guard": answers.guarded,
    "inspect_batch": answers.inspected,
    "steps=3 puts all back": answers.put_back,
}
WITH_NAN = {
    "diagnose": first(*NAN_CAUSES),
    "diagnose steps=3": first(*NAN_CAUSES),
    "watch": FOUND,
    "guard": first("stopped"),
}
WITHOUT_LABELS = {
    "diagnose": first("labels_masked"),
    "diagnose steps=3": first("labels_masked"),
    "inspect_batch": FOUND,
    "audit_step": FOUND,
}


def healthy_cases(group: str, make: Callable, diagnosis: Expected = SILENCE) -> list[Case]:
    """Each instrument on a healthy run; `diagnosis` is what a diagnosis must say about it."""
    must = dict.fromkeys(DIAGNOSES, diagnosis) | dict.fromkeys(OTHERS, SILENCE)
    return _cases(group, "healthy", make, must)


def cases_with_nan(group: str, make: Callable) -> list[Case]:
    """Instruments on a run whose model has one weight that is not a number."""
    return _cases(group, "NaN in a weight", lambda: make(model=broken_model()), WITH_NAN)


def cases_without_labels(group: str, make: Callable) -> list[Case]:
    """Instruments on a run in which no token is learned."""
    return _cases(group, "all labels ignored", partial(make, is_masked=True), WITHOUT_LABELS)


def _cases(group: str, what: str, make: Callable, must: dict[str, Expected]) -> list[Case]:
    instruments = DIAGNOSES | OTHERS
    return [
        Case(group, f"{name}, {what}", partial(instruments[name], make), expected)
        for name, expected in must.items()
    ]
