"""A label made by a comparison that every row passes."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_COMPARES = re.compile(
    r"\[['\"](?P<column>\w+)['\"]\]\s*(?P<sign>>=?|<=?)\s*(?P<n>-?\d+(?:\.\d+)?)\s*\)?"
    r"(?:\.astype\(|\.map\(|\s*\)\.astype|\.to_numpy|\s+else\b|\s*$)"
)
_LEAST = re.compile(r"^\W*min\W+(?P<n>-?\d+(?:\.\d+)?)\W*$")
_MOST = re.compile(r"^\W*max\W+(?P<n>-?\d+(?:\.\d+)?)\W*$")
SURE = 9.2
ALWAYS = (
    "every row gets the same label: the code makes it by {column} {sign} {n}, and the {which} of "
    "that column is {bound:g}. The loss falls to next to nothing, the accuracy is 1 in every "
    "evaluation that is labelled in the same way, and the model says one thing to every text"
)
THRESHOLD = (
    "a threshold that parts the rows (the middle of the scale; leave the middle itself out), count "
    "both labels before training, and train again. Regularisation does not mend it"
)


def passed_by_all(beside: Beside, log: Log) -> Iterator[Finding]:
    """`(df["rating"] > 0)` beside a printed least value above 0."""
    least, most = beside.first(_LEAST), beside.first(_MOST)
    for line in beside.words:
        found = _COMPARES.search(line.text)
        if not found or not least or not most:
            continue
        if not beside.matching(re.compile(rf"\b{found['column']}\b.*\b(?:describe|min|agg)\(")):
            continue  # these are of another column
        n, low, high = float(found["n"]), float(least[1]["n"]), float(most[1]["n"])
        up = found["sign"].startswith(">")
        is_all = (low > n or (low == n and "=" in found["sign"])) if up else high < n
        if is_all:
            bound, which = (low, "least") if up else (high, "most")
            why = ALWAYS.format(
                column=found["column"], sign=found["sign"], n=found["n"], which=which, bound=bound
            )
            at = least[0] if up else most[0]
            proof = (line.says, at.says)
            yield Finding("labels_constant", SURE, line, proof, why=why, advice=THRESHOLD)
            return
