"""Reads a line of nothing but names and numbers, however both are put beside each other.

`it 20 loss 2.1 gn 0.5`, `Epoch [1/3], Step [20/500], Loss: 2.1`, `acc 54.0% | ppl=8.1`: what people
print in loops of their own. A sentence has words between, and is none.
"""

import re
from collections.abc import Callable

from course_utils.explain.paste.tables import NUMBER

_PAIR = re.compile(
    r"(?P<name>[A-Za-z|][\w./|@()-]*(?: [A-Za-z][\w./|-]*){0,2})\s*(?:[:=]\s*|\s+)[\[(]?\s*"
    rf"(?P<value>{NUMBER})(?P<of>\s*/\s*\d+)?(?P<percent> ?%(?!\|))?[\])]?(?=[\s,;|:)]|$)"
)
_BETWEEN = re.compile(r"[\s,;|:\-\[\](){}<>]+")
_WORD = re.compile(r"\S+")
_BEFORE = re.compile(  # the time, the level and the place in the code, which loggers put before
    r"^\W*(?:[\d:,./\- TZ]{8,30})?[\s|\-\]\[]*(?:(?:INFO|DEBUG|SUCCESS|WARNING)\b[\s|\-\]:]*)?"
    r"(?:[\w.]+:[\w<>.]+:\d+[\s|\-]*)?"
)
FEWEST, MAX_OTHER, MAX_LINE = 3, 0.25, 400


def pairs(text: str, canonical: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """The names and numbers of a line that holds little else; [] for another line.

    >>> known = {"grad norm": "grad_norm"}.get
    >>> pairs("it 20, grad norm 0.5, acc 54.0%", known)
    [('it', '20'), ('grad norm', '0.5'), ('acc', '0.54')]
    >>> pairs("we saw a loss of 2.1 in step 3 of run 4", known)
    []
    """
    if len(text) > MAX_LINE or "%|" in text:
        return []
    at, other, found = _BEFORE.match(text).end(), 0, []
    begin = at
    while at < len(text):
        if sign := _BETWEEN.match(text, at):
            at = sign.end()
        elif pair := _PAIR.match(text, at):
            name = _known_end(pair["name"], canonical)
            found.append((name, _value(pair)))
            other += len(pair["name"]) - len(name)
            at = pair.end()
        else:
            word = _WORD.match(text, at)
            other += len(word[0])
            at = word.end()
    is_full = other <= MAX_OTHER * max(1, len(text) - begin)
    known = [one for name, _ in found if (one := canonical(name))]
    if len(set(known)) < len(known):
        return []  # of parts of the model, or of processes
    return found if len(found) >= FEWEST and is_full else []


def _known_end(name: str, canonical: Callable[[str], str | None]) -> str:
    """The last words of a name that are one here, or its last: other words may stand before it."""
    words = name.split(" ")
    ends = [" ".join(words[n:]) for n in range(len(words))]
    return next((end for end in ends if canonical(end)), ends[-1])


def _value(pair: re.Match) -> str:
    if pair["percent"]:
        return f"{float(pair['value']) / 100:.6g}"
    return pair["value"] + "".join((pair["of"] or "").split())
