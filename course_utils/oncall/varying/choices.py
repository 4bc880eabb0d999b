"""Decisions drawn by a seed, each from a key of its own.

A decision depends on the seed and on what it is about, and on nothing that was decided before. So
the files with a fault and those without it are rewritten alike wherever they are alike.
"""

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Decisions of one seed.

    >>> one, same = Choices(3), Choices(3)
    >>> one.pick("abc", "letter") == same.pick("abc", "letter")
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def of(self, *key: object) -> random.Random:
        """A generator for this key alone."""
        said = "\0".join(map(str, (self.seed, *key)))
        return random.Random(hashlib.sha256(said.encode()).digest())

    def pick(self, options: Sequence[T], *key: object) -> T:
        return options[self.of("pick", *key).randrange(len(options))]

    def chance(self, share: float, *key: object) -> bool:
        return self.of("chance", *key).random() < share

    def ordered(self, items: Iterable[T], *key: object) -> list[T]:
        """The items in an order in which one more leaves the others as they stand."""
        return sorted(items, key=lambda item: self.of(*key, item).random())
