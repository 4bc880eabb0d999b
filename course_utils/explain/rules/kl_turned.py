"""A KL that is computed the other way round, so that falling is paid for: `rule(log, beside)`."""

import ast
import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Entry, number_of
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, trend
from course_utils.explain.paste.usual_words import OF_KL

_OF_REFERENCE = re.compile(r"(?<![a-z])(?:ref|sft|init|base)(?![a-z])|reference", re.I)
_WORSE = re.compile(  # what a larger coefficient does, or none at all
    r"\b(?:beta|kl[_ -]?(?:coef\w*|weight|penalty))\b[^.;]{0,12}?(?P<low>\d[\d.e-]*) ?(?:->|to|→) ?"
    r"(?P<high>\d[\d.e-]*)\W.{0,30}?\b(?:worse|faster|sooner|earlier)\b|"
    r"\b(?:larger|higher|bigger|stronger|raising|increasing|doubling)(?: the)? (?:beta|kl\b\S*)"
    r"[^.;]{0,40}\b(?:worse|faster|sooner|earlier)\b",
    re.IGNORECASE,
)
_FINE_WITHOUT = re.compile(
    r"\b(?:beta|kl[_ -]?(?:coef\w*|weight|penalty))\b\W{0,3}(?:of |is )?0(?:\.0+)?\b(?!\.)"
    r"[^;]{0,60}?\b(?:fine|ok(?:ay)?|good|healthy|stable|no collapse|better|readable)\b|"
    r"\bwithout (?:the |a )?kl\b[^.;]{0,40}\b(?:fine|ok(?:ay)?|good|healthy|stable|better)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
FROM, DOWN_TO, ROUNDED, FEW = 1.0, -2.0, 0.006, 4  # nats; of a sum; entries
TURNED = (
    "the KL has the wrong sign: it is computed as reference minus policy, so that its mean over "
    "the policy's own replies is negative, and taking it from the reward pays for each nat that "
    "the policy moves away. The objective rises while what it stands for falls, and a larger "
    "coefficient makes it worse"
)
TURN_IT = (
    "log-prob of the policy minus that of the reference, for each token of the reply; assert that "
    "its mean is not below 0, start again from weights of before the KL fell, and then choose the "
    "coefficient anew. The value loss and the entropy are consequences"
)


def kl_turned_round(log: Log, beside: Beside) -> Finding | None:
    """A KL that falls from 0 without bound, and what shows that falling is paid for."""
    series = [(e, v) for e, v in log.series("kl") if math.isfinite(v)]
    levels = trend([value for _, value in series])
    if levels is None or not levels[2] < levels[0] or abs(series[0][1]) > FROM:
        return None
    (first, _), (last, lowest) = series[0], series[-1]
    if lowest > DOWN_TO or lowest > min(v for _, v in series) / 2:
        return None
    code, paid = _as_it_is_computed(beside), _paid(log, beside)
    tried = [found for one in (_WORSE, _FINE_WITHOUT) if (found := _tried(beside, one))]
    if not code and not paid and len(tried) < 2:
        return None
    proof = [
        f"{said(first, 'kl')} at {first.where}, {said(last, 'kl')} at {last.where}: a KL over the "
        "policy's own replies is 0 or more in the mean",
        *code,
        *paid,
        *tried,
    ]
    weight = 9.0 if code or (paid and tried) else 8.0
    return Finding("kl_subtracted", weight, last, tuple(proof), why=TURNED, advice=TURN_IT)


def _as_it_is_computed(beside: Beside) -> list[str]:
    """Code that makes a KL of the reference minus the policy."""
    for line, statement in statements(beside):
        for target, value in bound(statement):
            if not OF_KL.search(name_of(target)) or any(map(_is_exp, calls(value))):
                continue
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                value = value.func.value  # (ref - logp).sum(-1)
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Sub):
                continue
            left, right = ast.unparse(value.left), ast.unparse(value.right)
            if _OF_REFERENCE.search(left) and not _OF_REFERENCE.search(right):
                return [line.says]
    return []


def _is_exp(call: ast.Call) -> bool:
    return name_of(call.func) in ("exp", "expm1")


def _paid(log: Log, beside: Beside) -> list[str]:
    """A number of each entry that is the reward and the coefficient times the fallen KL more."""
    rows = [e for e in log.entries if {"reward", "kl"} <= e.numbers.keys()]
    rows = [e for e in rows if math.isfinite(e.numbers["kl"]) and e.numbers["kl"] < -FROM]
    if len(rows) < FEW:
        return []
    for weight in dict.fromkeys(one.number for one in beside.of("beta") if one.number):
        if all(_holds(entry, _total(entry, weight), weight) for entry in rows):
            reward, kl = said(rows[-1], "reward"), rows[-1].numbers["kl"]
            return [
                f"{rows[-1].where}: {reward} - {weight:g} * ({kl:g}) = "
                f"{_total(rows[-1], weight):.3g}, which stands there as well: more than the reward"
            ]
    return []


def _total(entry: Entry, weight: float) -> float:
    return entry.numbers["reward"] - weight * entry.numbers["kl"]


def _holds(entry: Entry, total: float, weight: float) -> bool:
    """Whether a number stands in an entry, whose KL may be printed with one decimal."""
    near = ROUNDED + 0.05 * weight
    return any(abs(float(one) - total) <= near for one in _NUMBER.findall(entry.text))


def _tried(beside: Beside, pattern: re.Pattern) -> str:
    for line, words in beside.all_matching(pattern):
        found = pattern.search(words)
        if found.groupdict().get("low") and not _rises(found):
            continue
        return line.says
    return ""


def _rises(found: re.Match) -> bool:
    low, high = (number_of(found[name].rstrip(".")) for name in ("low", "high"))
    return low is not None and high is not None and 0 < low < high


RULES_OF_SETTINGS = (kl_turned_round,)
