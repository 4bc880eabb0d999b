"""A saved adapter whose B is 0 in every layer that is shown, behind a training that learns."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import trend

_NORM = re.compile(
    r"\blora_(?P<half>[AB])\b\S*?['\"]?[\s:=|,>-]+"
    r"(?:(?:l2|fro\w*|abs|max|mean|norm)\b[\s:=|]*){0,3}(?:tensor\()?"
    r"(?P<value>\d+\.\d+(?:e[+-]?\d+)?)"
)
_FROM_FILE = re.compile(
    r"\bload_file\(|\bsafe_open\(|\btorch\.load\(|\.safetensors\b|\badapter_model\b"
)
_STAMP = re.compile(r"(?P<day>\d{4}-\d\d-\d\d|[A-Z][a-z]{2} +\d{1,2})[ T](?P<time>\d\d:\d\d)")
_FILE = re.compile(r"\badapter\w*\.(?:safetensors|bin)\b")
_STEP = re.compile(r"\b\d+/\d+\b|\b(?:step|iter|epoch)\b", re.IGNORECASE)
_TIES = re.compile(
    r"\bwin\W{1,3}0\b.*\bties?\W{1,3}[1-9]\d*.*\bloss\W{1,3}0\b",
    re.IGNORECASE,
)
FEWEST, SURE, SHOWN = 2, 9.3, 7.2
NOTHING_IN_IT = (
    "the adapter in the file holds nothing: B is 0 in every layer that is shown, as an adapter is "
    "before its first step, so that it adds nothing to the model that it is put on. The training "
    "did learn, and what was trained is not what was saved"
)
BEFORE_IT = ". The file was written at {file}, before the first step ({first})"
SAVE_AGAIN = (
    "save the adapter after the training, from the model that was trained (the unwrapped one, "
    "gathered where it is sharded; from its last full checkpoint if the process is gone), see that "
    "no lora_B is 0 in the file, and measure again; another beta, rate or loss does not mend it"
)


def saved_before_it_learnt(beside: Beside, log: Log) -> Iterator[Finding]:
    """Norms of B from a file that are all 0, and numbers of a training that moves."""
    lines = beside.words
    parts: list[Line | Entry] = [*lines, *log.entries]
    norms = [(x, m) for x in parts if (m := _NORM.search(x.text))]
    of_b = [(x, m) for x, m in norms if m["half"] == "B"]
    if len(of_b) < FEWEST or any(float(m["value"]) for _, m in of_b):
        return
    source = beside.matching(_FROM_FILE)
    times = _times(lines, log)
    moved = next(filter(None, (trend(log.values(n)) for n in ("loss", "acc", "margin"))), None)
    if source is None or not (times or moved):
        return
    at = of_b[0][0]
    proof = [f"{at.where} and {len(of_b) - 1} more: {at.text.strip()[:MAX_QUOTE]}"]
    proof += [times[2]] if times else []
    if ties := beside.matching(_TIES):
        proof.append(ties[0].says)
    if not times and moved[0] == moved[2]:
        return
    why = NOTHING_IN_IT + (BEFORE_IT.format(file=times[0], first=times[1]) if times else "")
    weight = SURE if times else SHOWN
    of = ("adapter_not_loaded", weight, at, tuple(proof))
    yield Finding(*of, why=why, advice=SAVE_AGAIN)


def _times(lines: list[Line], log: Log) -> tuple[str, str, str] | None:
    """When the file was written, when the first step was done, and both in words, if the file
    is older."""
    files = [(x, m) for x in lines if _FILE.search(x.text) and (m := _STAMP.search(x.text))]
    steps = [
        (x, m)
        for x in [*lines, *log.entries]
        if _STEP.search(x.text) and not _FILE.search(x.text) and (m := _STAMP.search(x.text))
    ]
    if not files or not steps:
        return None
    line, file = files[0]
    steps = [(x, m) for x, m in steps if len(m["day"]) == len(file["day"])]
    if not steps or len(file["day"]) != len("2025-01-01"):
        return None
    first, last = min(steps, key=_of), max(steps, key=_of)
    if _when(file) >= _when(first[1]):
        return None
    said = (
        f"{line.where}: the file is of {_when(file)}; steps stand from {_when(first[1])} "
        f"({first[0].where}) to {_when(last[1])} ({last[0].where})"
    )
    return file["time"], first[1]["time"], said


def _of(pair: tuple[Line | Entry, re.Match]) -> str:
    return _when(pair[1])


def _when(found: re.Match) -> str:
    return f"{found['day']} {found['time']}"
