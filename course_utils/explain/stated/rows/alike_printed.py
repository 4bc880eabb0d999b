"""Pairs that are printed, of which many have one text for both replies."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_PAIR = re.compile(
    r"['\"](?:chosen|better|winner)['\"]\s*:\s*(?P<q>['\"])(?P<good>(?:(?!(?P=q)).)+)(?P=q).*?"
    r"['\"](?:rejected|worse|loser)['\"]\s*:\s*(?P<r>['\"])(?P<bad>(?:(?!(?P=r)).)+)(?P=r)"
)
_EXACT = re.compile(r"\b(?:exactly 0|== ?0|equal)\b\W{1,4}(?P<n>\d[\d,]*)", re.IGNORECASE)
FEW, SHARE, SURE = 2, 0.3, 9.0  # pairs; of those that are shown
SAME = (
    "in {n} of the {all} pairs that are shown both replies are the same text: such a pair has one "
    "score for both, a margin of 0 and no gradient, and counts as a miss. The accuracy is that of "
    "the other pairs, thinned by these"
)
DROP = (
    "drop pairs whose replies are the same (after strip), count how many are left, and train "
    "again; the accuracy over the pairs that differ is the one to read"
)


def same_in_both(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows of data that are shown, in a third of which chosen is rejected."""
    pairs = [(x, m["good"], m["bad"]) for x in beside.words if (m := _PAIR.search(x.text))]
    same = [x for x, good, bad in pairs if good.strip() == bad.strip()]
    if len(same) >= FEW and len(same) >= SHARE * len(pairs):
        told = [x.says for x in same[:2]]
        told += [zero[0].says] if (zero := beside.matching(_EXACT)) else []
        why = SAME.format(n=len(same), all=len(pairs))
        yield Finding("pairs_alike", SURE, same[0], tuple(told), why=why, advice=DROP)
