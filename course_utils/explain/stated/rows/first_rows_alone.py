"""The first rows of a file that is sorted by label, taken before they are shuffled."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import place
from course_utils.explain.paste.log import Log, finite

_TAKES = re.compile(
    r"\.select\(\s*range\(\s*\d[\d_]*\s*\)|\.take\(\d|\.head\(\d|\[:\s*\d[\d_]*\s*\]|"
    r"split=['\"]train\[:\d"
)
_SHUFFLES = re.compile(r"\.shuffle\(|\.sample\(|shuffle_buffer|permutation\(")
_NONE_PREDICTED = re.compile(r"no predicted samples|no true samples|only one class", re.IGNORECASE)
LEARNT, SURE = 0.01, 8.6
ONE_LABEL = (
    "the first rows of the file are taken before anything is shuffled, and all of them have one "
    "label, as in a file that is sorted by it: the model learns to say that label for everything, "
    "the loss falls to next to nothing, and every other label of the evaluation is missed"
)
SHUFFLE = (
    "shuffle before rows are taken (ds.shuffle(seed=...).select(range(n)), or a stratified split), "
    "count the labels of what is trained on, and train again. Class weights, thresholds and a "
    "larger model do not mend it"
)


def taken_before_the_shuffle(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that takes the first rows, a loss of next to nothing, and no hit on another label."""
    losses, scores = finite(log.values("loss")), finite(log.values("eval_f1"))
    takes = beside.matching(_TAKES)
    if takes is None or not losses or losses[-1] > LEARNT:
        return
    shuffled = beside.matching(_SHUFFLES)
    if shuffled and place(shuffled[0]) <= place(takes[0]):
        return
    told = beside.matching(_NONE_PREDICTED)
    if not told and not (scores and max(scores) == 0):
        return
    proof = [takes[0].says, f"the loss falls to {losses[-1]:.2g}"]
    proof += [told[0].says] if told else [f"the evaluation's f1 is 0 in all {len(scores)}"]
    yield Finding("labels_constant", SURE, takes[0], tuple(proof), why=ONE_LABEL, advice=SHUFFLE)
