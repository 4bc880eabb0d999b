"""Drops the sentences of a report whose numbers were all given before."""

import re
from collections.abc import Iterable
from dataclasses import replace

from course_utils.diagnostics.diagnosis.sheet.finding import Found

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?%?"
FACT = re.compile(rf"\w+(?:\.\w+){{2,}}|\d+ of \d+|(?<![\w.]){NUMBER}|\bnan\b|\binf\b")
LAYER = re.compile(r"\.(?:\d+|\*)(?=\.|\s|$)")
AGAIN = "the numbers above"
WHEN = re.compile(r"^Step \d+, ")  # of the watch, where a trace of the first rows has no step


def facts(said: str) -> set[str]:
    """The numbers and the dotted names of a sentence; layers are all alike.

    >>> sorted(facts("model.layers.0 moves by 1e-3 in 4 of 5 steps"))
    ['1e-3', '4 of 5', 'model.layers._']
    """
    return set(FACT.findall(LAYER.sub("._", said)))


def is_told(said: str, known: set[str]) -> bool:
    """Whether a sentence holds facts, not all of them small whole numbers, and none is new.

    >>> is_told("16 of 17 tensors", {"16 of 17"}), is_told("16 steps", {"16"})
    (True, False)
    """
    found = facts(said)
    return found <= known and any(not fact.isdigit() for fact in found)


def told_once(causes: Iterable[Found]) -> tuple[Found, ...]:
    """The causes, without what an earlier sentence of the same report says."""
    known: set[str] = set()
    told: list[str] = []
    kept = []
    for number, one in enumerate(causes):
        known |= facts(one.says) | facts(one.place)
        said = []
        for at, sentence in enumerate(one.said):
            is_first = at == 0
            plain = WHEN.sub("", sentence).lower()
            is_again = is_told(sentence, known) or any(plain in before for before in told)
            if is_again and not (is_first and number == 0):
                continue
            said.append(sentence)
            told.append(plain)
            known |= facts(sentence)
        known.update(*map(facts, one.specimen))
        kept.append(replace(one, said=tuple(said) or (AGAIN,)))
    return tuple(kept)


def not_told(numbers: dict[str, str], causes: Iterable[Found]) -> dict[str, str]:
    """Those of the named numbers that no cause says word for word."""
    told = " ".join(sentence for one in causes for sentence in (one.says, *one.said))
    return {name: number for name, number in numbers.items() if number not in told}
