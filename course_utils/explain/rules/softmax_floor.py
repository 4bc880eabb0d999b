"""The floor of a loss that takes the softmax of probabilities: `rule(log, beside)`.

For K classes it is ln(e + K - 1) - 1 where the model is sure and right, and 1 more where it is sure
and wrong: the loss is the floor and the share of errors.
"""

import math
import re
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said, spread

_CLASSES = re.compile(
    r"\b(?:num_labels|num_classes|n_classes|nb_classes|n_labels|classes)['\"]?\s*[=:]\s*(?P<a>\d+)\b|"
    r"\b(?:Dense\(\s*|Linear\([^,()]+,\s*(?:out_features=)?)(?P<c>\d+)\b|"
    r"(?<![\w.])(?P<b>\d+)[- ](?:\w+ )?(?:classes|labels|categories|intents|topics|way)\b",
    re.IGNORECASE,
)
_BINARY = re.compile(r"\bbinary\b|\bspam\b|\bsentiment\b|\btwo classes\b", re.IGNORECASE)
_SOFTMAX = re.compile(r"softmax", re.IGNORECASE)
PAIRS = tuple(
    (one, other) for one in ("loss", "eval_loss") for other in ("accuracy", "eval_accuracy")
)
FEW, MOVES, CLOSE, NEAR, LATER = 3, 0.02, 0.012, 0.02, 2
WRONG = 0.7  # a share of errors, above which no model has learnt the classes
FLOOR = (
    "the loss stands at the floor of a softmax that is taken twice: {floor:.4f} for {k} classes, "
    "ln(e + K - 1) - 1, plus the share of errors. The model gives probabilities, and the loss "
    "takes the softmax of them once more, so that no model can fall below it and its gradient fades"
)
RAW = (
    "return the raw logits (no softmax as the last layer) and let the loss take its own; softmax "
    "only where probabilities are read. Then train again"
)


def at_the_floor(log: Log, beside: Beside) -> Finding | None:
    """A loss that is the floor of so many classes and the share of errors, in each entry."""
    found = floor_of(log, beside)
    if found is None:
        return None
    entry, k, proof = found
    why = FLOOR.format(floor=_floor(k), k=k)
    return Finding("probabilities_as_logs", 8.6, entry, proof, why=why, advice=RAW)


def floor_of(log: Log, beside: Beside) -> tuple[Entry, int, tuple[str, ...]] | None:
    """The last such entry, the number of classes, and the sums of the first and the last."""
    for loss, hits in PAIRS:
        entries = [e for run in (*log.earlier, log) for e in run.entries]
        both = [e for e in entries if {loss, hits} <= e.numbers.keys()]
        both = [e for e in both if math.isfinite(e.numbers[loss]) and 0 <= _error(e, hits) < WRONG]
        above = [e.numbers[loss] - _error(e, hits) for e in both]
        for k in _numbers_of_classes(beside) if len(both) >= FEW else ():
            late = above[-max(FEW, len(above) // LATER) :]
            if spread(late) > CLOSE or abs(fmean(late) - _floor(k)) > NEAR:
                continue
            if spread([_error(e, hits) for e in both]) < MOVES and not beside.matching(_SOFTMAX):
                continue
            return both[-1], k, tuple(_sum(e, loss, hits, k) for e in (both[-FEW], both[-1]))
    return None


def _error(entry: Entry, hits: str) -> float:
    """The share of errors, of an accuracy in percent as well."""
    share = entry.numbers[hits]
    return 1 - (share / 100 if share > 1 else share)


def _sum(entry: Entry, loss: str, hits: str, k: int) -> str:
    error = _error(entry, hits)
    return (
        f"{entry.where}: {said(entry, loss, hits)}, and {_floor(k):.4f} + {error:.4f} is "
        f"{_floor(k) + error:.4f}"
    )


def _floor(k: int) -> float:
    """
    >>> round(_floor(2), 4), round(_floor(6), 4)
    (0.3133, 1.0436)
    """
    return math.log(math.e + k - 1) - 1


def _numbers_of_classes(beside: Beside) -> list[int]:
    """How many classes the paste speaks of; two where it says so in a word."""
    found = [_CLASSES.search(words) for _, words in beside.all_matching(_CLASSES)]
    told = {int(one["a"] or one["b"] or one["c"]) for one in found}
    told |= {2} if beside.matching(_BINARY) else set()
    return sorted(k for k in told if k > 1)


RULES_OF_SETTINGS = (at_the_floor,)
