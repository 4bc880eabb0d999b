"""The losses of evaluations, as entries have them and as lines of words print them alone."""

import math
import re

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_PRINTED = re.compile(
    r"\b(?:eval\w*|val\w*|dev|test|held[-_ ]?out)[-_ /.]?loss['\"]?\W{1,4}(?P<loss>\d+\.\d+)",
    re.IGNORECASE,
)


def judged_losses(beside: Beside, log: Log) -> list[tuple[Entry | Line, float]]:
    """Every finite loss of an evaluation, in the order of the paste; none of a sentence.

    >>> heard = Beside(lines=[(0, Line("line 1", "step 1020 eval_loss 1.15"))])
    >>> [value for _, value in judged_losses(heard, Log())]
    [1.15]
    """
    found: list[tuple[Entry | Line, float]] = []
    for run in (*log.earlier, log):
        found += [(e, v) for e, v in run.series("eval_loss") if math.isfinite(v)]
    for line in beside.words:
        if (printed := _PRINTED.search(line.text)) and not is_prose(line.text):
            found.append((line, float(printed["loss"])))
    return sorted(found, key=lambda one: place(one[0]))
