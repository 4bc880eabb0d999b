"""A row of a batch as lists of numbers: its ids, its mask and its labels, one below the other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import PAD_IS_END

_NAMES = {
    "ids": re.compile(r"\binput_ids\b"),
    "mask": re.compile(r"\battention_mask\b"),
    "labels": re.compile(r"\blabel(?:s|_ids)\b"),
}
_LIST = re.compile(r"\[+\s*(-?\d+(?:,\s*-?\d+){3,})\s*[,\]]")
_ADDS_END = re.compile(
    r"\+\s*[\w.]*\beos_token\b|\{[\w.]*\beos_token\}[\"']|\badd_eos(?:_token)?\s*[:=]\s*True",
    re.IGNORECASE,
)
IGNORED, SURE, MOST_LINES = -100, 9.3, 12
HIDDEN = (
    "the end of each reply is not learnt: the row ends with token {end}, which is the padding as "
    "well, and the labels hide it with the padding (-100 for each token of that id). So the model "
    "is never shown when to stop, and its loss looks healthy"
)


@dataclass(frozen=True)
class _Row:
    ids: list[int]
    labels: list[int]
    mask: list[int] | None
    at: Line

    def first_hidden(self) -> int | None:
        """Where the learnt labels end and padding of one id begins, up to the row's end."""
        learnt = [n for n, label in enumerate(self.labels) if label != IGNORED]
        place = learnt[-1] + 1 if learnt else len(self.ids)
        rest = self.ids[place:]
        is_filled = (
            len(rest) > 1 and len(set(rest)) == 1 and rest[0] not in self.ids[learnt[0] : place]
        )
        return place if is_filled else None


def end_hidden_as_padding(beside: Beside, log: Log) -> Iterator[Finding]:
    """A token that the mask counts as text, of the padding's id, without a label."""
    if (row := _row(beside.words)) is None:
        return
    place = row.first_hidden()
    if place is None:
        return
    end, same = row.ids[place], beside.matching(PAD_IS_END)
    added = beside.matching(_ADDS_END)
    proof = [f"{row.at.where}: label -100 at token {end} right behind the last learnt one"]
    if row.mask is not None:
        if row.mask[place] != 1 or any(row.mask[place + 1 :]):
            return
        proof.append("the attention mask is 1 there and 0 behind it: it is the end, no padding")
    elif not same or not added:
        return
    proof += [f"{one[0].where} says: {one[1]}" for one in (same, added) if one]
    yield Finding("pad_is_eos", SURE, row.at, tuple(proof), why=HIDDEN.format(end=end))


def _row(lines: list[Line]) -> _Row | None:
    """The first lists of these names, if they are of one length."""
    lists: dict[str, tuple[Line, list[int]]] = {}
    for number, line in enumerate(lines):
        for name, pattern in _NAMES.items():
            found = pattern.search(line.text)
            if name in lists or not found:
                continue
            values = _LIST.search(line.text, found.end()) or _below(lines, number)
            if values:
                lists[name] = (line, [int(one) for one in values[1].split(",")])
    if "ids" not in lists or "labels" not in lists:
        return None
    (_, ids), (at, labels) = lists["ids"], lists["labels"]
    mask = lists["mask"][1] if "mask" in lists else None
    if len(ids) != len(labels) or (mask is not None and len(mask) != len(ids)):
        return None
    return _Row(ids, labels, mask, at)


def _below(lines: list[Line], number: int) -> re.Match | None:
    """The list that begins on the next line and stands alone there, on one or more lines."""
    text = ""
    for line in lines[number + 1 : number + 1 + MOST_LINES]:
        text += f" {line.text.strip()}"
        if text.count("[") <= text.count("]"):
            break
    return _LIST.match(re.sub(r"^\W*tensor\(", "", text.strip()))
