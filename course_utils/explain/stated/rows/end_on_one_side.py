"""Code that puts the end token behind one reply of a pair, and not behind the other."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite

_END = re.compile(r"\+\s*(?:[\w.]*eos_token\b|EOS\b|['\"](?:</s>|<\|\w*end\w*\|>|<eos>)['\"])")
_MAKES = re.compile(r"(?<![=!<>])=(?!=)|['\"]\s*:\s")
_SIDES = {"chosen": re.compile(r"\bchosen\b"), "rejected": re.compile(r"\brejected\b")}
PERFECT = 0.98  # of the pairs of an evaluation
SHOWN, SAID = 9.2, 7.4
ONE_SIDE = (
    "the code puts the end token behind {own} and not behind {other}, so that the last token "
    "alone tells them apart: the model learns to score that token. An evaluation whose pairs are "
    "made in the same way shows nothing of it, and replies that all end alike are hardly told apart"
)
BOTH = (
    "make both replies by one function, with the end token behind both (and at scoring time too); "
    "train again from the base, and see that the last ids of both sides are the same"
)


def end_on_one_side(beside: Beside, log: Log) -> Iterator[Finding]:
    """A line that makes one side with the end token, and one that makes the other without."""
    made = {side: _made(beside, side) for side in _SIDES}
    if not all(made.values()):
        return
    ended = [side for side, lines in made.items() if any(_END.search(one.text) for one in lines)]
    if len(ended) != 1:
        return
    own, other = ended[0], next(side for side in _SIDES if side not in ended)
    with_end = next(one for one in made[own] if _END.search(one.text))
    hits = finite(log.values("eval_accuracy") or log.values("accuracy"))
    proof = [with_end.says, made[other][0].says]
    proof += [f"an accuracy of {max(hits):.3g}"] if hits and max(hits) >= PERFECT else []
    weight, why = SHOWN if len(proof) > 2 else SAID, ONE_SIDE.format(own=own, other=other)
    yield Finding("ending_tells", weight, with_end, tuple(proof), why=why, advice=BOTH)


def _made(beside: Beside, side: str) -> list[Line]:
    """The lines of code that make one side alone."""
    other = next(pattern for name, pattern in _SIDES.items() if name != side)
    return [
        line
        for line in beside.words
        if _SIDES[side].search(line.text)
        and not other.search(line.text)
        and _MAKES.search(line.text)
        and "(" in line.text
    ]
