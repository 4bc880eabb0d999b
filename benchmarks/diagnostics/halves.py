"""Splits the incidents into two halves: rules were tuned on one; and the seed of each half."""

import hashlib

TUNED, OTHER = "tuned", "other"
SEEDS = {TUNED: 0, OTHER: 1}


def half_of(name: str) -> str:
    """Which half of the incidents a name belongs to, the same on every machine.

    >>> half_of("pad_is_eos") in (TUNED, OTHER)
    True
    """
    return TUNED if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else OTHER
