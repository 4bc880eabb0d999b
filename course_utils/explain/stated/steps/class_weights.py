"""Weights of classes in the order of a count, where the loss takes them by the class's number."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_COUNTED = re.compile(
    r"\b(?P<name>\w+)\s*=\s*(?:[\w.]*\bCounter\(|.*\.value_counts\((?!.*sort_index))"
)
_TAKEN = re.compile(
    r"\b(?P<name>\w+)\.(?:values|items|most_common)\(|\bfor \w+ in (?P<plain>\w+)\]|"
    r"\b(?P<of>\w+)\.value_counts\(\)(?:\.values|\.to_numpy\(\)|\.tolist\(\))?"
)
_MAKES = re.compile(r"\bw(?:eight|eights|ts|t)?\b\w*\s*=|weight\w*\s*=", re.IGNORECASE)
_BY_NUMBER = re.compile(
    r"\bsorted\(|sort_index\(|\bfor (?:\w+) in range\(|\bbincount\(|compute_class_weight|"
    r"OrderedDict\(sorted|\.sort\("
)
_IN_A_LOSS = re.compile(r"(?:CrossEntropyLoss|cross_entropy|NLLLoss|nll_loss)\(.*\bweights?\s*=")
_COUNTS = re.compile(r"\{\s*(?P<pairs>\d+\s*:\s*\d+(?:\s*,\s*\d+\s*:\s*\d+)+)\s*\}")
_WEIGHTS = re.compile(
    r"\bw(?:eights?|ts?)?\b\W*(?:tensor\()?\[(?P<items>\s*\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?)+)\s*\]",
    re.IGNORECASE,
)
NEAR, SHOWN, SAID = 0.03, 9.2, 5.6  # of a weight
BY_APPEARANCE = (
    "the weights of the classes are the values of a count in its own order (that in which labels "
    "first appear, or the most frequent first), and the loss takes them by the number of the "
    "class: "
)
EACH = "class {one} gets {got:g} where its {rows} rows would give {due:.3g}{more}"
EACH_UNSEEN = "unless the labels first appear in the order of their numbers, each gets another's"


def weights_in_another_order(beside: Beside, log: Log) -> Iterator[Finding]:
    """A count's values as the weights of a loss; the printed counts and weights, if there are."""
    lines = beside.words
    code, loss = _code(lines), beside.matching(_IN_A_LOSS)
    if code is None or loss is None:
        return
    proof = [one.says for one in (*code, loss[0])]
    printed = _printed(lines)
    if printed is None:
        against = ("the order of the counts is not in the log",)
        of = ("class_weights_misplaced", SAID, code[1], tuple(proof), against)
        yield Finding(*of, why=BY_APPEARANCE + EACH_UNSEEN)
        return
    where, counts, weights = printed
    due = [sum(counts) / (len(counts) * max(count, 1)) for count in counts]
    wrong = [n for n, one in enumerate(weights) if not _is_near(one, due[n])]
    if not wrong or not all(map(_is_near, sorted(weights), sorted(due))):
        return  # in order, or made by another formula
    one = max(wrong, key=lambda n: max(weights[n] / due[n], due[n] / weights[n]))
    more = f", and so {len(wrong)} of {len(weights)} classes" if len(wrong) > 1 else ""
    said = EACH.format(one=one, got=weights[one], rows=counts[one], due=due[one], more=more)
    proof.append(where)
    yield Finding("class_weights_misplaced", SHOWN, code[1], tuple(proof), why=BY_APPEARANCE + said)


def _code(lines: list[Line]) -> tuple[Line, Line] | None:
    """The line that counts, and the one that makes weights of the counts as they stand."""
    counted: dict[str, Line] = {}
    for line in lines:
        found, taken = _COUNTED.search(line.text), _TAKEN.search(line.text)
        if taken and _MAKES.search(line.text) and not _BY_NUMBER.search(line.text):
            name = taken["name"] or taken["plain"] or ""
            if name in counted:
                return counted[name], line
        if found:
            counted[found["name"]] = line
            if _BY_NUMBER.search(line.text):
                del counted[found["name"]]
    return None


def _printed(lines: list[Line]) -> tuple[str, list[int], list[float]] | None:
    """Where counts and weights are printed, and both, in the order of the numbers and as given."""
    counts, weights = {}, []
    for line in lines:
        if found := _COUNTS.search(line.text):
            pairs = (one.split(":") for one in found["pairs"].split(","))
            counts, at = {int(key): int(value) for key, value in pairs}, line
        if found := _WEIGHTS.search(line.text):
            weights, below = [float(one) for one in found["items"].split(",")], line
    if sorted(counts) != list(range(len(weights))) or not weights or 0 in weights:
        return None
    said = f"{at.where} says: {at.text.strip()[:80]}; {below.where}: {below.text.strip()[:80]}"
    return said, [counts[key] for key in sorted(counts)], weights


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) < NEAR * max(one, other)
