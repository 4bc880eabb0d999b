"""The clauses of a fix: what stands between its commas and semicolons."""

import re
from collections.abc import Collection

_BETWEEN = re.compile(r"([;,]) (?![^(]*\)|[^\[]*\])")  # not what stands in parentheses or a list
_JOINED = re.compile(r"^(?:and|or|then) ")


def clauses(said: str) -> list[str]:
    """
    >>> clauses("a smaller micro-batch, shorter replies (512, say); gradient checkpointing")
    ['a smaller micro-batch', 'shorter replies (512, say)', 'gradient checkpointing']
    >>> clauses("modules_to_save=['wte', 'lm_head'], with both tables")
    ["modules_to_save=['wte', 'lm_head']", 'with both tables']
    """
    return _BETWEEN.split(said)[::2]


def without(said: str, left_out: Collection[str]) -> str:
    """The sentence without some clauses; "" where none is left.

    >>> without("gradient checkpointing, or shorter replies", ["gradient checkpointing"])
    'shorter replies'
    """
    first, *rest = _BETWEEN.split(said)
    pairs = [("", first), *zip(rest[::2], rest[1::2], strict=True)]
    kept = [f"{sign} {clause}" for sign, clause in pairs if clause not in left_out]
    if len(kept) == len(pairs):
        return said
    return _JOINED.sub("", "".join(kept).lstrip(";, "))
