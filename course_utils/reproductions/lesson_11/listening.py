"""Keeps what PEFT warns of, in place of showing it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def listening() -> Iterator[list[str]]:
    """The warnings of the block about an adapter, in a list that is whole at its end."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    words = [str(one.message) for one in caught]
    said += [text for text in words if any(w in text for w in ("adapter", "peft", "tie_word"))]
