"""Which half of the incidents rules were tuned on, and with which seed a half runs."""

import hashlib

TUNED, OTHER = "tuned", "other"
SEEDS = {TUNED: 0, OTHER: 1}


def half_of(name: str) -> str:
    """Which half of the incidents a name belongs to, the same on every machine.

    >>> half_of("pad_is_eos") in (TUNED, OTHER)
    True
    """
    return TUNED if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else OTHER
