"""Numbers of classes in the order of a set of names, which each process has in another order."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.stated.label_maps import turned

_BY_HASH = re.compile(
    r"(?<!sorted\()(?<!sorted\(list\()(?:\blist\(\s*set\(|\benumerate\(\s*set\()(?!.*\bint\()"
)
_SAVED = re.compile(
    r"\bjson\.load\(|\bpickle\.load\(|\bPYTHONHASHSEED\b|\bconfig\.(?:id2label|label2id)\b"
)
_TOLD = re.compile(r"(?:\b|_)acc(?:uracy)?\b['\"]?\W{1,3}(?P<n>0\.\d+)", re.IGNORECASE)
HIGH, LOW, SEVERAL = 0.7, 0.6, 2  # an accuracy; of the best one; of them
HASHED = (
    "the classes are numbered in the order of a set of names, which is another one in each process "
    "(Python hashes text with a seed of its own in each): the numbers in the evaluation are not "
    "those of the training, and change from run to run. The weights are what they were, and a "
    "model that is right is counted as wrong"
)
SORT = (
    "number sorted(set(...)), write the map beside the weights (id2label) in the training and read "
    "it in the evaluation. The trained model may be good: find the order in which it was trained "
    "(a confusion matrix that has one large number in each row shows it), and count again"
)


def numbered_by_hash(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that numbers a set of names, and an evaluation that is turned round or changes."""
    lines, code = [line for _, line in beside.lines], beside.matching(_BY_HASH)
    if code is None or beside.matching(_SAVED):
        return
    matrix, apart = turned(beside), _changes(log, lines)
    if not matrix and not apart:
        return
    quoted = f"{code[0].where} says: {code[0].text.strip()[:MAX_QUOTE]}"
    proof = (quoted, *([matrix[2]] if matrix else []), *apart)
    yield Finding("evaluation_rows_differ", 9.0, code[0], proof, why=HASHED, advice=SORT)


def _changes(log: Log, lines: list[Line]) -> list[str]:
    """Accuracies that differ from run to run and are all far below that of the training."""
    told = [(x, float(m["n"])) for x in (*lines, *log.entries) for m in _TOLD.finditer(x.text)]
    hits = finite(log.values("eval_accuracy") + log.values("accuracy"))
    best = max([*hits, *(rate for _, rate in told)], default=0.0)
    low = {rate: line for line, rate in told if rate < LOW * best}
    if best < HIGH or len(low) < SEVERAL:
        return []
    shown = ", ".join(f"{rate:g} ({line.where})" for rate, line in list(low.items())[:4])
    return [f"the accuracy is another one each time, {shown}, and {best:g} in the training"]
