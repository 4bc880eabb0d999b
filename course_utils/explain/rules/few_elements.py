"""A table in which few elements of each weight have changed, of a model kept in bfloat16:
`rule(log, beside)`."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules.kept_in_bfloat16 import LARGER_HIDES, ROUNDED, SMALL
from course_utils.explain.stated.rounded import FLOAT32_KEPT, KEEP_FLOAT32, OF_WEIGHTS

_HEAD_OF_CHANGES = re.compile(
    r"(?=.*\b(?:elements?|numel|params?|parameters?|tensors?|size|name|module|layer|weight)\b)"
    r".*(?:\b|_)(?:changed|differ\w*|updated|moved)\b",
    re.IGNORECASE,
)
_ROW_OF_CHANGES = re.compile(
    r"^\W*(?P<who>[A-Za-z][\w.]*)[\s|]+(?:[\d,.]+(?:e[+-]?\d+)?[\s|]+){0,3}?"
    r"(?P<share>\d+(?:\.\d+)?) ?%"
)
_GRADIENTS = re.compile(
    r"\bgrad(?:ient)?[ _-]?norms?\b[^.;\n]{0,30}?\d*\.\d+(?: ?(?:-|to|\u2013) ?\d*\.\d+)?",
    re.IGNORECASE,
)
FEWEST, TINY = 3, 10.0  # rows of a table; percent


def few_elements_change(log: Log, beside: Beside) -> Finding | None:
    """A model that is kept in bfloat16, a small rate, and a table in which few elements changed."""
    lines = [line for _, line in beside.lines]
    kept = next((one for one in beside.all_matching(OF_WEIGHTS) if not is_prose(one[0].text)), None)
    other = (one for one in beside.all_matching(FLOAT32_KEPT) if not is_prose(one[0].text))
    rate = _highest_rate(log, beside)
    heads = (n for n, line in enumerate(lines) if _HEAD_OF_CHANGES.search(line.text))
    at = next((n for n in heads if not is_prose(lines[n].text)), None)
    if kept is None or any(other) or at is None or not 0 < rate <= SMALL:
        return None
    rows = list(_rows_below(lines[at + 1 :]))
    shares, arrive = [float(row["share"]) for row in rows], _gradients(log, beside)
    if len(rows) < FEWEST or max(shares) > TINY or not arrive:
        return None
    most = rows[shares.index(max(shares))]
    proof = (
        f"{kept[0].where} says: {kept[1]}; the rate is {rate:.2g} at most",
        f"{lines[at].where} on: at most {most['share']} % of the elements of a tensor have changed "
        f"({most['who']}), and {min(shares):g} % in another",
        arrive,
    )
    advice = KEEP_FLOAT32 + LARGER_HIDES
    return Finding("rounding_swallows", 8.6, kept[0], proof, why=ROUNDED, advice=advice)


def _rows_below(lines: list[Line]) -> Iterator[re.Match]:
    """The rows of a table of changes, up to the first line that is none."""
    for line in lines:
        if found := _ROW_OF_CHANGES.match(line.text):
            yield found
        elif line.text.strip(" -|:=+"):
            return


def _highest_rate(log: Log, beside: Beside) -> float:
    """Of the log, or where it has none, the one that is set; 0 if neither is there."""
    rates, asked = finite(log.values("learning_rate")), beside.printed("learning_rate")
    return max(rates) if rates else (asked and asked.number) or 0.0


def _gradients(log: Log, beside: Beside) -> str:
    """That gradients arrive, as the log has it or a sentence says; "" if neither does."""
    norms = finite(log.values("grad_norm"))
    if any(norms):
        return f"gradients arrive: grad_norm up to {max(norms):.3g}"
    told = beside.matching(_GRADIENTS)
    return f"gradients arrive: {told[0].where} says: {told[1].strip()}" if told else ""


RULES_OF_SETTINGS = (few_elements_change,)
