"""A metric of one's own that compares the logits at a place with the token at that very place."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.stated.calls.tokens import TWO_PARTS

_COMPARES = re.compile(
    r"\b\w*pred\w*(?:\[[^\]]*\])?\s*(?:==|!=)\s*\w*(?:label|target|\by\b)\w*|"
    r"\b\w*(?:label|target)\w*(?:\[[^\]]*\])?\s*==\s*\w*pred\w*|"
    r"\baccuracy(?:_score|\.compute)\(.*pred",
    re.IGNORECASE,
)
_OF_TOKENS = re.compile(r"!=\s*-100|==\s*-100|\btok(?:en)?_acc", re.IGNORECASE)
_SHIFTS = re.compile(
    r"\[\s*(?:\.\.\.|:)?\s*,?\s*1\s*:\s*\]|:\s*-\s*1\s*\]|:\s*-\s*1\s*,|\bshift\w*|\broll\(", re.I
)
_METRIC = re.compile(r"\bcompute_metrics\b|\bpreprocess_logits_for_metrics\b|\bargmax\b")
WEIGHT = 8.8
UNSHIFTED = (
    "the accuracy of tokens is counted without the shift: the logits at a place say the token "
    "behind it, and the metric compares them with the token at that place. So it is next to 0, "
    "while a loss of {loss:.3g} means that the right token has a probability of {p:.2g} or more on "
    "average; whatever chooses a checkpoint by it chooses by chance, and the model is as good as "
    "its loss"
)
SHIFT = (
    "preds[:, :-1] beside labels[:, 1:] (and the mask -100 on those labels) in compute_metrics; "
    "the model's own loss shifts by itself, and no training is to be done again"
)


def unshifted_metric(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that compares without a shift, and an accuracy that no such loss can have."""
    compares = beside.matching(_COMPARES)
    if compares is None or not beside.matching(_METRIC) or not beside.matching(_OF_TOKENS):
        return
    if beside.matching(_SHIFTS) or beside.matching(TWO_PARTS):
        return
    entry = next((one for one in log.entries if _cannot_be(one)), None)
    if entry is None:
        return
    loss = entry.numbers["eval_loss"]
    proof = (compares[0].says, f"{said(entry, 'eval_loss', _hits(entry))} at {entry.where}")
    why = UNSHIFTED.format(loss=loss, p=math.exp(-loss))
    of = ("metric_not_as_named", WEIGHT, compares[0], proof)
    yield Finding(*of, why=why, advice=SHIFT)


def _hits(entry: Entry) -> str:
    names = ("eval_accuracy", "token_accuracy", "accuracy")
    return next((name for name in names if name in entry.numbers), "")


def _cannot_be(entry: Entry) -> bool:
    """Whether fewer are right than must be: with a mean probability of p, 2p - 1 of the tokens
    have one above a half."""
    loss, hits = entry.numbers.get("eval_loss", math.nan), _hits(entry)
    return bool(hits) and math.isfinite(loss) and entry.numbers[hits] < 2 * math.exp(-loss) - 1
