"""Rows that somebody has run one by one: those without a label are those whose loss is nan."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_LABELS = re.compile(
    r"(?:sum|count\w*|num|n)?\W?_?(?:completion_mask|loss_mask|assistant_masks?|(?:valid_|num_|n_)?"
    r"(?:labels?|targets?|supervised|trainable|learnt|learned)(?:_tokens?| tokens)?)"
    r"(?:\s*!=\s*-100)?\)?(?:\.sum\(\))?\s*[:=]\s*(?P<count>\d+)\b",
    re.IGNORECASE,
)
_LOSS = re.compile(r"\bloss\s*[:=]\s*(?P<loss>nan|\d+(?:\.\d+)?)\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(?:len\((?:input_)?ids\)|len(?:gth)?|seq_?len|total|num_tokens)\s*[:=]\s*(?P<length>\d+)\b",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"\b(?:n_|num_|len_)?prompt\w*\s*[:=]\s*(?P<prompt>\d+)\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\bnan\b[^\d\n]{0,12}(?P<nan>\d+) (?:of|/|out of) (?P<all>\d+)", re.IGNORECASE
)
FEWEST, SURE = 3, 9.3  # rows; the rows themselves, with the numbers of each
NO_LABEL = (
    "a row that keeps no label has a loss of 0 / 0: the rows whose loss is nan are those without "
    "a label, and the others are finite. A mean over rows, or over batches of one row, is nan "
    "through them; where a batch holds other rows too its loss is finite, and these teach nothing"
)
CUT = (
    ". They are cut at {limit} tokens before their reply begins: the prompt of one alone has "
    "{prompt}"
)
LONGER = (
    "a limit above prompt and reply together, or cut the prompt and keep the reply, or drop rows "
    "that keep no label (from the evaluation as well); then count the labels of each row"
)
KEEP = (
    "find what takes the labels of these rows (a limit of the length, a template that is not "
    "found), and drop rows that keep none, from the evaluation as well"
)


def rows_one_by_one(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows with their count of labels and their loss, which is nan where the count is 0."""
    rows = [(part, *told) for part in _parts(beside, log) if (told := _read(part.text))]
    bare = [one for one in rows if one[1] == 0]
    odd = [one for one in rows if (one[1] == 0) != (one[2] == "nan")]
    if len(rows) < FEWEST or not bare or len(bare) == len(rows) or odd:
        return
    at = bare[0][0]
    proof = [at.says]
    proof.append(f"of {len(rows)} rows that are shown, {len(bare)} with 0 labels are nan, no other")
    if counted := beside.matching(_HOW_MANY) or _counted(log):
        proof.append(f"{counted[0].where} says: {counted[1].strip()}")
    cut = _cut(at.text, [one[0].text for one in rows])
    why, advice = NO_LABEL + cut, LONGER if cut else KEEP
    yield Finding("labels_masked", SURE, at, tuple(proof), why=why, advice=advice)


def _parts(beside: Beside, log: Log) -> list[Line | Entry]:
    return [*(line for line in beside.words), *log.entries]


def _counted(log: Log) -> tuple[Entry, str] | None:
    found = ((entry, _HOW_MANY.search(entry.text)) for entry in log.entries)
    return next(((entry, match[0]) for entry, match in found if match), None)


def _read(text: str) -> tuple[int, str] | None:
    """How many labels a row has, and its loss.

    >>> _read("row 4 len=99 n_labels: 0 loss=nan"), _read("{'loss': 0.31, 'epoch': 1.0}")
    ((0, 'nan'), None)
    """
    labels, loss = _LABELS.search(text), _LOSS.search(text)
    return (int(labels["count"]), loss["loss"].lower()) if labels and loss else None


def _cut(text: str, others: list[str]) -> str:
    """That a row is as long as the longest one, and its prompt longer."""
    lengths = [int(found["length"]) for one in others if (found := _LENGTH.search(one))]
    length, prompt = _LENGTH.search(text), _PROMPT.search(text)
    if not length or not prompt or int(length["length"]) != max(lengths):
        return ""
    if int(prompt["prompt"]) < int(length["length"]):
        return ""
    return CUT.format(limit=length["length"], prompt=prompt["prompt"])
