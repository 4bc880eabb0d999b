"""A row that is shown as two lists, of its ids and of its labels: whether its end is learnt."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.labels.learnt_ends import IDS
from course_utils.explain.stated.labels.pad_hides_end import one_token

_LIST = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+){3,})\s*\]")
_END_ID = re.compile(
    r"\b(?:eos|eot|im_end|end)\w*\b.*?\b(?P<id>\d{1,6})\b.*<[^>]+>|"
    r"\beos_(?:token_)?id['\"]?\s*[:=]\s*\[?(?P<other>\d+)"
)
_COUNTS = re.compile(r"\[-1\]\s*!=\s*-100")
_COUNTED = re.compile(r"^\W*(\d+)\b")
_RUNS_ON = re.compile(r"\bfinish_reason\b\W+length\W+(?P<length>\d+)\W+stop\W+(?P<stop>\d+)\b")
_LIMIT = re.compile(r"\bmax_seq_len\s*[:=]\s*(\d+)")
IGNORED = -100
BY_PAD = (
    ". The pad token is the end token, and what hides the padding by its id hides the real end "
    "of each row too"
)
END_IGNORED = (
    "the end of the reply is not learnt: the last token of the row is {id} and ends it, and its "
    "label is -100, while the tokens before it have theirs. The loss falls all the same, and the "
    "model never learns to stop"
)
LABEL_IT = (
    "find what sets the last label to -100, and let it keep the label of its reply{known}; make "
    "the rows anew, and see that labels[-1] is the id of the end in each of them; train again"
)
OF_THE_LIMIT = (
    " (the tokenizer's max_seq_len is given, and in some versions what cuts rows changes the mask "
    "of the last token even where nothing is cut: leave it out, or a newer version)"
)


def end_without_label(beside: Beside, log: Log) -> Iterator[Finding]:
    """Ids and labels of one row: all behind the prompt is learnt but the end."""
    for (line, ids), (below, labels) in pairwise(_lists(beside)):
        if len(ids) != len(labels) or labels[-1] != IGNORED or IGNORED in ids:
            continue
        kept = [n for n, label in enumerate(labels) if label != IGNORED]
        if len(kept) < 2 or kept[-1] != len(ids) - 2 or any(ids[n] != labels[n] for n in kept):
            continue  # nothing, more than the end or something else is left out
        if not _is_end(ids[-1], beside) or _is_end(ids[-2], beside):
            continue  # padding, behind an end that is learnt
        proof = (
            f"{line.where}: the ids end with {ids[-2]}, {ids[-1]}",
            f"{below.where}: the labels end with {labels[-2]}, {labels[-1]}",
            *_counted(beside),
            *_runs_on(beside),
        )
        why = END_IGNORED.format(id=ids[-1])
        if same := one_token(beside):
            yield Finding("pad_is_eos", 9.5, below, (same[0].says, *proof), why=why + BY_PAD)
            return
        limit = beside.matching(_LIMIT)
        advice = LABEL_IT.format(known=OF_THE_LIMIT if limit else "")
        yield Finding("end_masked", 9.5, below, proof, why=why, advice=advice)
        return


def _lists(beside: Beside) -> Iterator[tuple[Line, list[int]]]:
    for line in beside.words:
        for found in _LIST.finditer(line.text):
            yield line, [int(one) for one in found[1].split(",")]


def _is_end(number: int, beside: Beside) -> bool:
    """Whether it is the id of an end, by its number or by what is printed of it."""
    if any(number in ids for ids in IDS.values() if min(ids) > 1000):
        return True
    found = (match for line in beside.words for match in _END_ID.finditer(line.text))
    said = {match["id"] or match["other"] for match in found}
    return str(number) in said or any(
        re.search(rf"^\W*{number}\b.*<[^>]*(?:end|eot|eos|/s)[^>]*>", line.text)
        for line in beside.words
    )


def _counted(beside: Beside) -> Iterator[str]:
    """How many rows have a label at their end, as somebody has counted."""
    for line, below in pairwise(line for line in beside.words):
        number = _COUNTED.match(below.text) if _COUNTS.search(line.text) else None
        if number and number[1] == "0":
            yield f"{below.where} answers {below.text.strip()} to {line.text.strip()}"[:240]


def _runs_on(beside: Beside) -> Iterator[str]:
    for line in beside.words:
        found = _RUNS_ON.search(line.text)
        if found and found["stop"] == "0" and found["length"] != "0":
            yield f"{line.where} says: {' '.join(line.text.split())[:MAX_QUOTE]}"
            return
