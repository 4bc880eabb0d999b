"""A training log that is fine, and a model that answers garbage once it is merged or loaded."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, trend

_SAVED = re.compile(
    r"\bmerg\w+|\w*_merged\b|\bsave_pretrained\w*|\b(?:saved|exported|converted|re-?loaded)\b",
    re.IGNORECASE,
)
_GARBAGE = re.compile(
    r"\b(?:garbled?|garbage|gibberish|nonsense|mojibake|random (?:tokens|characters|words)|"
    r"(?:other|foreign|wrong) (?:alphabets?|scripts?))\b|\u4e71\u7801",
    re.IGNORECASE,
)
WEIGHT = 4.2  # the log itself shows nothing of it
NOT_OF_TRAINING = (
    "the log shows no fault of the training; what writes garbage is the model as it was merged, "
    "saved and loaded, and no rule tells which of these did it, or whether it is the "
    "template at serving"
)
SPLIT_IT = (
    "first split the question: ask the adapter before it is merged, in memory or as base + adapter "
    "from the disk, and compare its logits for one prompt with those of the merged folder; if the "
    "adapter is good, merge anew with a newer version or with PEFT, or serve the adapter; if both "
    "are alike, the loader, its number format and the chat template at serving"
)
OPEN = "the merged save, the loader and the template at serving would all look like this in the log"


def garbled_once_saved(beside: Beside, log: Log) -> Iterator[Finding]:
    """The sentence that says so, beside a loss that falls."""
    levels = trend(log.values("loss"))
    if log.kind() == "policy" or levels is None or not levels[0] > levels[2] > 0:
        return
    for line in beside.told():
        saved, garbage = _SAVED.search(line.text), _GARBAGE.search(line.text)
        if saved and garbage:
            proof = (
                f"{line.where} says: {_around(line.text, saved.start(), garbage.end())}",
                f"the loss falls: {listed(levels)} by thirds of the log",
            )
            yield Finding(
                *("merged_not_equal", WEIGHT, line, proof),
                why=NOT_OF_TRAINING,
                advice=SPLIT_IT,
                untold=OPEN,
            )
            return


def _around(text: str, one: int, other: int) -> str:
    """What stands between two places of a sentence, or as much of it as is quoted."""
    start, end = min(one, other), max(one, other)
    return text[start:end].strip() if end - start < MAX_QUOTE else text[start:][:MAX_QUOTE]
