"""The words that name a cause outright: errors and warnings of the libraries, signals, codes."""

import re
from collections.abc import Iterator

from course_utils.causes import CAUSES, Cause, Phrase

_ATOM = re.compile(r"\\.|\[[^\]]*\]|\{[\d,]*\}|.")  # of a pattern


def _texts(cause: Cause) -> Iterator[Phrase]:
    """The phrases of a cause, and how a shell or a launcher writes its signal."""
    yield from cause.phrases
    if number := cause.signal:
        yield Phrase(rf"exit ?code\s*:?\s*\(?(-{number}|{128 + number})\b|\bSignal {number}\b")


def branches(pattern: str) -> list[str]:
    """The alternatives of a pattern, outside of its groups.

    >>> branches(r"a(b|c)|d")
    ['a(b|c)', 'd']
    """
    found, depth = [""], 0
    for part in _ATOM.findall(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            found.append("")
        else:
            found[-1] += part
    return found


def literal(branch: str) -> str:
    r"""The longest text, in lower case, that whatever matches a branch must hold.

    >>> literal(r"exit ?code\s*:?\s*\(?(-9|137)\b"), literal(r"NCCL error in: ?\S+")
    ('exit', 'nccl error in:')
    """
    runs, depth, atoms = [""], 0, _ATOM.findall(branch)
    for part, following in zip(atoms, [*atoms[1:], ""], strict=True):
        depth += part == "("
        plain = part[1:] if part in (r"\.", r"\(", r"\]") else part
        if depth or len(plain) > 1 or plain in "^$.)|?*+" or following[:1] in ("?", "*", "{"):
            runs.append("")
        else:
            runs[-1] += plain
        depth -= part == ")"
    return max(runs, key=len).lower()


# Cause, weight, what the line must hold in lower case, pattern. The first that matches a line is
# its meaning: the surest, and among those the first of the catalogue.
PHRASES = tuple(
    (cause.key, phrase.weight, literal(branch), re.compile(branch, re.IGNORECASE))
    for cause, phrase in sorted(
        ((cause, phrase) for cause in CAUSES.values() for phrase in _texts(cause)),
        key=lambda pair: (pair[0].is_last_word, -pair[1].weight),
    )
    for branch in branches(phrase.pattern)
)
