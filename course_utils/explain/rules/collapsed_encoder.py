"""A classifier whose encoder was broken by too large steps: `rule(log, beside)`."""

import re
from collections import Counter

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.rules.measured import at_a_guess

_CLASSIFIES = re.compile(r"ForSequenceClassification\b|\bnum_labels\b")
_ADAPTER = re.compile(r"\b(?:lora|peft|adapter)\w*", re.IGNORECASE)
_ROW = re.compile(r"\[\s*(?P<row>-?\d+\.\d+(?:e[+-]?\d+)?(?:,\s*-?\d+\.\d+(?:e[+-]?\d+)?)+)\s*\]")
_WARMS_UP = re.compile(r"\bwarm_?up_(?:ratio|steps)\b['\"]?\s*[=:]\s*(?!0(?:\.0+)?\b)[\d.]+")
_FROM_AN_OTHER = re.compile(r"\b(?:comparison|friend|colleague|other|base)\b", re.IGNORECASE)
HIGH, ROWS = 5e-5, 2  # a rate for a whole encoder; texts with the same logits
COLLAPSED = (
    "every text gets the same logits, so that loss and accuracy stand at a guess: the whole "
    "encoder was trained at {rate:.2g}{warmth}, and steps of that size early on make it forget "
    "what tells texts apart (large encoders first); no more rows or epochs bring it back"
)
SMALLER = (
    "begin again from the pretrained weights, at 1e-5 to 2e-5 with a warm-up over 6 to 10 % of the "
    "steps and clipping at 1.0; then different texts must get different logits"
)


def encoder_collapsed(log: Log, beside: Beside) -> Finding | None:
    """A classifier at a guess whose printed logits are the same for several texts, and a rate of
    5e-5 or more for all of its weights, with gradients that arrive."""
    guess, same = at_a_guess(log), _same_rows(beside)
    if guess is None or same is None or not beside.matching(_CLASSIFIES):
        return None
    rates = finite(log.values("learning_rate"))
    told = [one.number for one in beside.of("learning_rate") if one.number]
    rate, norms = max([*rates, *told], default=0.0), finite(log.values("grad_norm"))
    if rate < HIGH or beside.matching(_ADAPTER) or (norms and max(norms) == 0):
        return None
    line, times = same
    warm = [one for one, _ in beside.all_matching(_WARMS_UP) if not _FROM_AN_OTHER.search(one.text)]
    proof = (
        *guess.for_it,
        f"{line.where} and on: {times} texts with the same logits to the last digit",
        f"learning_rate {rate:.2g}, and no adapter",
    )
    why = COLLAPSED.format(rate=rate, warmth="" if warm or not told else " without a warm-up")
    return Finding("rate_too_high", 7.4, line, proof, why=why, advice=SMALLER)


def _same_rows(beside: Beside) -> tuple[Line, int] | None:
    """The logits that are printed most often, with their first line."""
    rows = [(line, found["row"]) for line in beside.words for found in _ROW.finditer(line.text)]
    counted = Counter(row for _, row in rows).most_common(1)
    if not counted or counted[0][1] < ROWS or counted[0][1] < len(rows):
        return None
    return next(line for line, row in rows if row == counted[0][0]), counted[0][1]


RULES_OF_SETTINGS = (encoder_collapsed,)
