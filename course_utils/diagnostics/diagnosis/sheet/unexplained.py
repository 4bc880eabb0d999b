"""Lists what is odd in a run and stays unexplained."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Odd:
    """Something odd, and the causes that would account for it."""

    says: str
    by: frozenset[str]


def unexplained(odds: Iterable[Odd], causes: set[str]) -> tuple[str, ...]:
    """What none of the causes accounts for; without a cause nothing is held to be odd.

    >>> unexplained([Odd("the loss is large", frozenset({"rate_too_high"}))], {"pad_is_eos"})
    ('the loss is large',)
    """
    return tuple(odd.says for odd in odds if causes and not odd.by & causes)
