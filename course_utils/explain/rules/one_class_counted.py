"""An accuracy that is the share of the larger class, as counts of labels or of predictions show
it: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number, share
from course_utils.explain.paste.log import Log, finite

_PERCENTS = re.compile(
    r"\b(?P<name>true|false|good|bad|pos\w*|neg\w*|right|wrong|correct|incorrect|yes|no|\d|"
    r"class ?\d|"
    r"safe|unsafe|normal|[A-Za-z]\w{2,15})\b['\"]?\s*[:=]?\s*(?:\d[\d,]*[\s(]+)?\(?(?<![\d.])"
    r"(?P<part>\d{1,2}(?:\.\d+)?) ?%",
    re.IGNORECASE,
)
_OF_LABELS = re.compile(r"\blabels?\b|\bclass\w*|\bsteps?\b.*%|\bbalance\b|\bdistribution\b", re.I)
_DICT = re.compile(r"(?:Counter\()?\{(?P<items>[^{}]+)\}\)?")
_ITEM = re.compile(r"['\"]?(?P<name>[\w+-]+)['\"]?\s*:\s*(?P<n>\d[\d_,]*)(?=\s*(?:,|$))")
_SOME_OF = re.compile(
    r"(?<![\d.,])(?P<some>\d[\d,]{2,}) ?(?:/|of|out of) ?(?:the |all )?(?P<all>\d[\d,]{2,})\b"
    r"(?! (?:good|bad|correct|incorrect|positive|negative|true|false|right|wrong)\b)"
    r"[^\n]{0,40}(?:\b(?:good|bad|correct|incorrect|positive|negative|true|false|right|wrong|labels?|"
    r"class|steps?)\b|['\"(][+-]['\")])",
    re.IGNORECASE,
)
_VALUE_COUNT = re.compile(
    r"^\W*?(?P<name>True|False|[01+-]|good|bad|pos\w*|neg\w*|correct|incorrect|right|wrong)\s+"
    r"(?P<n>\d{2,})\s*$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<name>\b(?:true|false|good|bad|pos\w*|neg\w*|correct|incorrect|right|wrong|yes|no)\b|"
    r"(?<!\S)['\"]?[+-](?=['\"]?\s*[:=]))['\"]?"
    r"\s*[:=]?\s*(?P<n>\d[\d,_]{1,})(?![\d.]*%)",
    re.IGNORECASE,
)
_MATRIX = re.compile(
    r"\[\[\s*(?P<a>\d+)[,\s]+(?P<b>\d+)\s*\][,\s]*\[\s*(?P<c>\d+)[,\s]+(?P<d>\d+)\s*\]\]"
)
_ROW = re.compile(
    r"^\W*(?P<label>[A-Za-z][\w ()/=+-]*?)?[\s|:\[]+(?P<a>\d+)[\s|,]+(?P<b>\d+)[\s|\]]*$"
)
_NAMES_MATRIX = re.compile(r"\bconfusion\b|\bpred\w*\b.*\bpred\w*\b|\b(?:true|actual|gold)\b", re.I)
_REPORT = re.compile(
    r"^\W*(?P<label>[\w+.-]+(?: [\w-]+)?)\s+(?P<p>[01]\.\d+)\s+(?P<r>[01]\.\d+)"
    r"\s+[01]\.\d+\s+(?P<n>\d+)\s*$"
)
_RARE = r"\b(?:bad|neg\w*|wrong|incorrect|false|minority|rare|errors?)\b"
_RECALL = re.compile(
    rf"\brecall\b[^\n\d]{{0,14}}{_RARE}[^\n\d]{{0,14}}(?P<a>0?\.0\d*|0)(?![\d.])|"
    rf"{_RARE}[^\n\d]{{0,20}}\brecall\b\W{{1,4}}(?P<b>0?\.0\d*|0)(?![\d.])",
    re.IGNORECASE,
)
_AVERAGES = re.compile(r"avg|accuracy|mean", re.IGNORECASE)
_AUC = re.compile(r"\b(?:roc[-_ ]?)?auc\b[^\d\n]{0,20}(?P<value>0?\.\d+)", re.IGNORECASE)
LEAST, SAME, MOVES, NEVER, FEWEST = 0.7, 0.003, 0.005, 0.03, 20
RANKS = 0.55  # of an AUC
OF_THE_LARGER = (
    "the model calls every row the larger class: {how}. So its accuracy ({right:.4g}) is the share "
    "of that class and stays there, whatever is learnt, and not one in thirty of the other class "
    "is found; with classes so far out of balance, an unweighted loss and a cut at 0.5 that costs "
    "least"
)
WEIGH = (
    "weigh the rare class in the loss (pos_weight, class weights) or bring more of its rows (for "
    "steps: more wrong solutions, and no label behind the first error); judge by recall or F1 of "
    "both classes, AUC or a benchmark of errors, not by accuracy; and choose the threshold on "
    "held-out rows in place of 0.5"
)
Counted = tuple[Line, float, str]  # where, the share of the larger class, and how it is known


def all_of_the_larger_class(log: Log, beside: Beside) -> Finding | None:
    """Every evaluation is as right as the share of the larger class, or the rare one is never
    predicted."""
    if log.kind() != "supervised":
        return None
    hits = _hits(log)
    never = next(_never_said(beside.words), None)
    counts = [one for one in _shares(beside.words) if LEAST <= one[1] < 1]
    same = next((one for one in counts if _stays_at(hits, one[1])), None)
    alone = never and (_stays_at(hits, never[1] or hits[-1]) if hits else never[1])
    if not same and not alone:
        return None
    at = (same or never)[0]
    proof = [one[0].says for one in (same, never) if one]
    if hits:
        proof.append(f"{min(hits):.4g} to {max(hits):.4g} right in {len(hits)} evaluations")
    proof += _ranks_all_the_same(log, beside, same)
    how = "; ".join(one[2] for one in (same, never) if one)
    right = hits[-1] if hits else (same or never)[1]
    why = OF_THE_LARGER.format(how=how, right=right)
    weight = 8.8 if same and never else 8.4 if never else 7.8
    return Finding("one_class", weight, at, tuple(proof), why=why, advice=WEIGH)


def _hits(log: Log) -> list[float]:
    name = "eval_accuracy" if log.values("eval_accuracy") else "accuracy"
    values = finite(log.values(name))
    return [value / 100 for value in values] if values and max(values) > 1 else values


def _stays_at(hits: list[float], part: float) -> bool:
    """Whether there are evaluations and all are as right as this share."""
    near = all(abs(hit - part) <= SAME for hit in hits)
    return len(hits) > 1 and near and max(hits) - min(hits) < MOVES


def _shares(lines: list[Line]) -> Iterator[Counted]:
    """The share of the larger class, as labels were counted."""
    for above, line in pairwise([Line("", ""), *lines]):
        parts = [share(m["part"] + "%") for m in _PERCENTS.finditer(line.text)]
        if len(parts) == 2 and abs(sum(parts) - 1) < SAME * 2:
            yield line, max(parts), f"{max(parts):.1%} of the labels are of one class"
        elif len(parts) == 1 and _OF_LABELS.search(line.text):
            most = max(parts[0], 1 - parts[0])
            yield line, most, f"{most:.1%} of the labels are of one class"
        for counts in () if _ROW.match(line.text) else _counts(line.text):
            if len(counts) == 2 and min(counts) > 0:
                most = max(counts) / sum(counts)
                yield line, most, f"{max(counts):g} of {sum(counts):g} labels are of one class"
        both = [_VALUE_COUNT.match(one.text) for one in (above, line)]
        if all(both) and both[0]["name"] != both[1]["name"]:
            counts = [float(one["n"]) for one in both]
            most = max(counts) / sum(counts)
            yield above, most, f"{max(counts):g} of {sum(counts):g} labels are of one class"


def _counts(text: str) -> Iterator[list[float]]:
    """The counts of two classes: {0: 1196, 1: 18804}, good 18804 bad 1196, 1196 of 20000 bad."""
    for held in _DICT.finditer(text):
        yield [plain_number(m["n"].rstrip(",")) for m in _ITEM.finditer(held["items"])]
    yield [plain_number(m["n"].rstrip(",")) for m in _NAMED.finditer(text)]
    for found in _SOME_OF.finditer(text):
        some, whole = plain_number(found["some"]), plain_number(found["all"])
        if some < whole:
            yield [some, whole - some]


def _never_said(lines: list[Line]) -> Iterator[Counted]:
    """A confusion matrix, or a report, in which one class is next to never predicted."""
    for number, line in enumerate(lines):
        if found := _MATRIX.search(line.text):
            yield from _of_matrix(line, *(float(found[n]) for n in "abcd"))
        first = _ROW.match(line.text)
        second = _ROW.match(lines[number + 1].text) if number + 1 < len(lines) else None
        above = " ".join(one.text for one in lines[max(0, number - 2) : number + 1])
        if first and second and _NAMES_MATRIX.search(above):
            cells = (float(row[n]) for row in (first, second) for n in "ab")
            yield from _of_matrix(line, *cells)
        recall = _RECALL.search(line.text)
        if recall and float(recall["a"] or recall["b"]) <= NEVER:
            yield line, 0.0, f"its recall is nearly 0 ({recall[0]})"
    rows = [(line, m) for line in lines if (m := _REPORT.match(line.text))]
    rows = [(line, m) for line, m in rows if not _AVERAGES.search(m["label"])]
    missed = [(x, m) for x, m in rows if float(m["r"]) <= NEVER and int(m["n"]) >= FEWEST]
    if len(rows) == 2 and len(missed) == 1:
        line, row = missed[0]
        whole = sum(int(m["n"]) for _, m in rows)
        how = f"the recall of {row['label']} is {row['r']}, in {row['n']} of {whole} rows"
        yield line, 1 - int(row["n"]) / whole, how


def _of_matrix(line: Line, a: float, b: float, c: float, d: float) -> Iterator[Counted]:
    """Rows are what is true, columns what is predicted: a rare class that is hardly predicted."""
    for rare, said_rare, common in ((c + d, d, a + b), (a + b, a, c + d)):
        if FEWEST <= rare < common and said_rare <= NEVER * rare:
            how = f"of the {rare:g} rows of the rare class {said_rare:g} are predicted as such"
            yield line, common / (rare + common), how


def _ranks_all_the_same(log: Log, beside: Beside, same: Counted | None) -> list[str]:
    """That the scores tell the classes apart, although the answers do not."""
    told = beside.first(_AUC)
    if told and RANKS < float(told[1]["value"]) <= 1:
        return [f"{told[0].where} says: {told[1][0]}: the scores rank the rows, the cut hides it"]
    losses = finite(log.values("eval_loss"))
    if not same or not losses:
        return []
    part = same[1]
    entropy = -(part * math.log(part) + (1 - part) * math.log(1 - part))
    if losses[-1] > 0.97 * entropy:
        return []
    return [
        f"the evaluation's loss ends at {losses[-1]:.4g}, below the {entropy:.3g} of the shares "
        "alone: the scores do rank the rows"
    ]


RULES_OF_SETTINGS = (all_of_the_larger_class,)
