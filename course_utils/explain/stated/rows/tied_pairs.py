"""What shows that the two replies of most pairs get one and the same score."""

import math
import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import margins_of, said

_TWO_SCORES = re.compile(r"^[^\w-]*(-?\d+\.\d{2,})\s+(-?\d+\.\d{2,})\W*$")
_NAMED_SCORES = re.compile(
    r"\b\w*(?:chosen|better|win\w*|pos\w*)\w*\W{1,3}?([+-]?\d+\.\d{2,})\b.*?"
    r"\b\w*(?:reject\w*|worse|los\w*|neg\w*)\W{1,3}?([+-]?\d+\.\d{2,})\b",
    re.IGNORECASE,
)
_MIDDLE_IS_0 = re.compile(
    r"\bmargin p25/p50/p75 \+?-?\d\.\d+/[+-]?0\.0+/|"
    r"\bmargins?[_/ ](?:p50|median)\b['\"]?[\s=:]{1,3}0(?:\.0+)?(?![\d.])|"
    r"\b(?:median|p50)[_/ ]margin\b['\"]?[\s=:]{1,3}0(?:\.0+)?(?![\d.])",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    r"(?P<n>\d+) out of (?P<of>\d+) instances where the predictions for both options are equal"
)
_DIFFERENCES = re.compile(r"^\W*(?:tensor\()?\[(?P<items>-?\d+\.\d+(?:,\s*-?\d+\.\d+){5,})\]")
FEW_PAIRS, MOST, NEAR = 4, 0.6, 5e-3  # rows of scores; of them; of ln 2


def signs_of_ties(beside: Beside, log: Log) -> Iterator[str]:
    """What the paste has of it: printed scores, a warning, differences, accuracies, log-probs."""
    for signs in (_equal_scores(beside), _told_equal(beside), _differ_by_nothing(beside)):
        yield from signs
    for signs in (_are_ties(log), _middle_margin(beside, log), _of_nothing(log)):
        yield from signs


def _equal_scores(beside: Beside) -> list[str]:
    """Rows of two scores, most of which are the same to the last digit."""
    lines = beside.words
    rows = [(line, found) for line in lines if (found := _TWO_SCORES.match(line.text))]
    rows = rows or [(line, found) for line in lines if (found := _NAMED_SCORES.search(line.text))]
    same = [line for line, found in rows if found[1] == found[2] and float(found[1])]
    if len(rows) < FEW_PAIRS or len(same) < MOST * len(rows):
        return []
    return [f"{same[0].where} on: {len(same)} of {len(rows)} pairs have two equal scores"]


def _told_equal(beside: Beside) -> list[str]:
    """TRL's warning of pairs with two equal predictions, where most are."""
    for line, words in beside.all_matching(_EQUAL):
        found = _EQUAL.search(words)
        if int(found["of"]) and int(found["n"]) >= MOST * int(found["of"]):
            return [line.says]
    return []


def _differ_by_nothing(beside: Beside) -> list[str]:
    """A printed list of differences, most of which are exactly 0."""
    for line in beside.words:
        if found := _DIFFERENCES.match(line.text):
            items = [float(one) for one in found["items"].split(",")]
            if any(items) and items.count(0.0) >= MOST * len(items):
                return [
                    f"{line.where}: {items.count(0.0)} of {len(items)} differences are exactly 0"
                ]
    return []


def _are_ties(log: Log) -> list[str]:
    """An accuracy far below a half beside a loss that is not above ln 2, as ties give it: were
    the pairs turned round, the loss would be above, and the margin below 0."""
    losses = finite(log.values("loss"))
    hits = finite(right for entry, right in log.series("accuracy") if "loss" in entry.numbers)
    if len(losses) < FEW_PAIRS or not hits or fmean(hits) > 0.25:
        return []
    margins, far = finite(margin for _, margin in margins_of(log)), fmean(losses) - math.log(2)
    is_flat = max(abs(loss - math.log(2)) for loss in losses) <= NEAR
    if far > NEAR or not (is_flat or (margins and sum(margins) >= 0)):
        return []
    mean = "" if max(losses) <= math.log(2) + NEAR else f"in the mean ({fmean(losses):.4g}) "
    return [
        f"the loss ({min(losses):.4g} to {max(losses):.4g}) is {mean}at ln 2 = 0.693 or below, and "
        f"the accuracy of these entries {fmean(hits):.3g} in the mean: most pairs are ties"
    ]


def _middle_margin(beside: Beside, log: Log) -> list[str]:
    """A difference of scores whose middle is exactly 0."""
    for line in (*beside.words, *log.entries):
        if found := _MIDDLE_IS_0.search(line.text):
            told = f"{line.where} says: {found[0].rstrip('/')}"
            return [f"{told}: the two scores are the same in the middle of all pairs"]
    return []


def _of_nothing(log: Log) -> list[str]:
    """Log-probs of both replies that are exactly 0, sums over no token."""
    series = log.series("chosen_logp")
    if not series or any(log.values("chosen_logp") + log.values("rejected_logp")):
        return []
    return [
        f"{said(series[0][0], 'chosen_logp')}, and 0 in all entries: no token of a reply is left"
    ]
