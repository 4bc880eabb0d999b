"""A table in which few elements of each weight have changed, of a model kept in bfloat16:
`rule(log, beside)`."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import thirds
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.rules.kept_in_bfloat16 import ROUNDED, SMALL
from course_utils.explain.stated.steps.rounded import (
    FLOAT32_KEPT,
    KEEP_FLOAT32,
    LARGER_HIDES,
    OF_WEIGHTS,
)

_HEAD_OF_CHANGES = re.compile(
    r"^(?=.*\b(?:elements?|numel|params?|parameters?|tensors?|size|name|module|layer|weight)\b)"
    r".*(?:(?:\b|_)(?:changed|differ\w*|updated|moved|touched|not equal|(?P<kept>unchanged|"
    r"identical|(?:bit-?(?:wise)? ?)?equal|same))\b|!=|\u2260)",
    re.IGNORECASE,
)
_ROW_OF_CHANGES = re.compile(
    r"^\W*(?P<who>[A-Za-z][\w.]*)[\s|]+(?:(?:[\d,.]+(?:e[+-]?\d+)?|-)[\s|]+){0,3}?"
    r"(?P<share>\d+(?:\.\d+)?) ?%"
)
_TOLD = re.compile(
    r"(?<![\d.])(?P<share>\d+(?:\.\d+)?) ?% of (?:all |the |its |our )*(?:elements?|weights?|"
    r"param\w*|values?|entries)\b[^.;,]{0,30}?\b(?:differ|chang|mov|updat)\w*|"
    r"\b(?:elements?|weights?|param\w*|values?|entries) (?:that )?(?:have |are )?"
    r"(?:differ|chang|mov|updat)\w*(?: from (?:the )?\w+)?\W{1,4}(?P<also>\d+(?:\.\d+)?) ?%",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?=.*(?:!=|\.ne\(|\bnot_equal\(|\bisclose\(|\w*changed\b|\bn?_?diff\w*))"
    r"(?=.*(?:\.mean\(|\.sum\(.*/|numel|\blen\(|\.size\b|\bfrac\w*\(|"
    r"\b(?:\w*changed|\w*diff\w*) ?/ ?\w))",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"^\W*(?:tensor\()?(?P<share>0?\.\d+(?:e-?\d+)?|\d(?:\.\d+)?e-\d+|0\.0)\W*$")
_SHARE = re.compile(
    r"\b(?:share|fraction|frac|part|ratio|proportion)\b[^\n\d]{0,60}?"
    r"(?:differ|chang|mov|updat)\w*[^\n\d]{0,40}(?P<share>0?\.\d+(?:e-?\d+)?)(?! ?%)|"
    r"(?P<also>0?\.\d+(?:e-?\d+)?) of (?:all |the |its |our )*(?:elements?|weights?|param\w*|"
    r"values?)"
    r"\b[^.;,\n]{0,30}?\b(?:differ|chang|mov|updat)\w*",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"(?<![\d.])(?P<share>\d+(?:\.\d+)?) ?% of (?:all |the |its |our |my |model )*(?:elements?|"
    r"weights?|param\w*|values?|entries)\b[^.;,]{0,30}?\b(?:identical|unchanged|untouched|"
    r"the same|equal|(?:never|not|n't) (?:change|move|differ)\w*)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:(?:frac(?:tion)?|share|part|ratio)[ _](?:of[ _])?(?:\w+[ _]){0,3}?(?:changed|updated|"
    r"moved|differ\w*)|(?:changed|updated|moved|differing)(?:[ _](?:frac(?:tion)?|share|part|ratio|"
    r"elements?|weights?|params?))*)['\"]?\s*[:=]?\s*(?P<share>0?\.\d+)(?![\d.]*\d)",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(  # a format that is not the one in which the trainer keeps its weights
    r"\brollout(?:_\w+)?\b|vllm|sglang|sampler|generat|\bref\b|mixed_precision|compute",
    re.IGNORECASE,
)
_GRADIENTS = re.compile(
    r"\bgrad(?:ient)?[ _-]?norms?\b[^.;\n]{0,30}?\d*\.\d+(?: ?(?:-|to|\u2013) ?\d*\.\d+)?",
    re.IGNORECASE,
)
FEWEST, TINY = 3, 10.0  # rows of a table; percent
LEARNT = 0.9  # of the first losses
BELOW = 5  # lines between a question and its answer


def few_elements_change(log: Log, beside: Beside) -> Finding | None:
    """A model that is kept in bfloat16, a small rate, and a table in which few elements changed."""
    lines = beside.words
    named = (one for one in beside.all_matching(OF_WEIGHTS) if not is_prose(one[0].text))
    kept = next((one for one in named if not _OF_OTHERS.search(one[0].text)), None)
    other = (one for one in beside.all_matching(FLOAT32_KEPT) if not is_prose(one[0].text))
    rate = _highest_rate(log, beside)
    if kept is None or any(other) or not 0 < rate <= SMALL:
        return None
    few = _in_a_table(lines) or _in_words(lines)
    few = few or ("" if _learns(log) else _answered(lines) or _as_a_share(lines))
    arrive = _gradients(log, beside)
    if not few or not arrive:
        return None
    proof = (f"{kept[0].where} says: {kept[1]}; the highest rate shown is {rate:.2g}", few, arrive)
    advice = KEEP_FLOAT32 + LARGER_HIDES
    return Finding("rounding_swallows", 8.6, kept[0], proof, why=ROUNDED, advice=advice)


def _in_a_table(lines: list[Line]) -> str:
    """The largest and the smallest share of a table of changes, if all are small; else ""."""
    for number, line in enumerate(lines):
        head = _HEAD_OF_CHANGES.search(line.text)
        if head is None or is_prose(line.text):
            continue
        rows = list(_rows_below(lines[number + 1 :]))
        shares = [abs(100 * bool(head["kept"]) - float(row["share"])) for row in rows]
        if len(rows) < FEWEST or max(shares) > TINY:
            continue
        most = rows[shares.index(max(shares))]
        share = f"{max(shares):.3g}" if head["kept"] else most["share"]
        return (
            f"{line.where} on: at most {share} % of the elements of a tensor have changed "
            f"({most['who']}), and {min(shares):.3g} % in another"
        )
    return ""


def _in_words(lines: list[Line]) -> str:
    """That few of all elements have changed, as a sentence or a printed line has it; else ""."""
    found = ((line, m) for line in lines if (m := _TOLD.search(line.text)))
    few = [(line, m) for line, m in found if float(m["share"] or m["also"]) <= TINY]
    alike = ((line, m) for line in lines if (m := _SAME.search(line.text)))
    few += [(line, m) for line, m in alike if 100 - float(m["share"]) <= TINY]
    named = ((line, m) for line in lines if (m := _NAMED.search(line.text)))
    few += [(line, m) for line, m in named if 100 * float(m["share"]) <= TINY]
    return next((f"{line.where} says: {m[0].strip()}" for line, m in few), "")


def _learns(log: Log) -> bool:
    """Whether the loss falls clearly, as with a float32 copy that the saved weights do not show."""
    losses = thirds(log.values("loss"))
    return losses is not None and losses[2] < LEARNT * losses[0]


def _answered(lines: list[Line]) -> str:
    """The share of elements that differ, as a prompt has answered or a comment says; else ""."""
    for number, line in enumerate(lines):
        if not _ASKED.search(line.text):
            continue
        comment = line.text.rpartition("#")[2] if "#" in line.text else ""
        for text in (comment, *(one.text for one in lines[number + 1 : number + 1 + BELOW])):
            found = _ANSWER.match(text)
            if found and 100 * float(found["share"]) <= TINY:
                return f"{line.where} asks what part of the elements differs: {found['share']}"
    return ""


def _as_a_share(lines: list[Line]) -> str:
    found = ((line, m) for line in lines if (m := _SHARE.search(line.text)))
    few = ((line, m) for line, m in found if 100 * float(m["share"] or m["also"]) <= TINY)
    return next((f"{line.where} says: {m[0].strip()}" for line, m in few), "")


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
