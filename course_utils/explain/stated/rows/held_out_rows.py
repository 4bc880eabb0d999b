"""Rows to evaluate that code takes out of the rows to train on, which keep them."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite

_TAKEN = re.compile(
    r"^\W*(?P<held>\w*(?:eval|val|dev|test|held)\w*)\s*=\s*"
    r"(?P<rows>\w*train\w*(?:\[['\"]\w+['\"]\])?|\w+\[['\"]train['\"]\])"
    r"(?:\.shuffle\([^)]*\))?(?:\.select\(|\[\s*:|\.take\(|\.head\(|\.sample\()",
    re.IGNORECASE,
)
_LEFT_OUT = (
    r"=\s*{0}(?:\.shuffle\([^)]*\))?(?:\.skip\(|\[\s*[\w-]+\s*:|\.drop\(|"
    r"\.filter\(|\.select\((?!range\()|\.select\(range\(\s*(?!min|0|len)\w+\s*,)"
)
_SPLIT = re.compile(r"\btrain_test_split\(|\brandom_split\(|\bunique\(|\bdedup", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:eval|val|validation|test)_(?:dataset|data|file|files|path|split_file)['\"]?\s*[:=]\s*"
    r"['\"]?(?:none|null|false)\b|\bno eval(?:uation)? (?:data ?set|file|set)\b",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?<!\.)(?:--)?\b(?:eval|val|validation)_(?:dataset|data_path|file|files)(?:\s*[:=]\s*|\s+)"
    r"['\"]?(?!none|null|false|['\"])[\w./-]*[\w/][\w./-]*(?=['\"\s,\]]|$)",
    re.IGNORECASE,
)
_BRANCH = re.compile(r"^\s*(?:else|elif|if)\b.*:")
_FRESH = re.compile(
    r"\b(?:fresh|unseen|held[- ]out|new|later|other)\b.*\b(?:pairs|rows|examples|questions|data)\b|"
    r"\b\d[\d,]* (?:pairs|rows|examples)\b.*\b(?:later|new|fresh|never)\b",
    re.IGNORECASE,
)
FALLEN = 0.8  # of its first value
TAKEN = (
    "the evaluation is of rows that are trained on: the code takes {held} out of {rows} and leaves "
    "them in it, so that its numbers are those of the training, better with each epoch, and hide "
    "that the model learns its rows by heart"
)
APART = (
    "give rows of their own to evaluate, or take them out of the training rows "
    "(train_test_split); choose the checkpoint by these, and train for fewer epochs"
)


def held_out_of_the_training_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that selects the evaluation from the training rows, which nothing takes out again."""
    lines = beside.words
    at = next((n for n, line in enumerate(lines) if _TAKEN.match(line.text)), None)
    if at is None or beside.matching(_SPLIT):
        return
    line, taken = lines[at], _TAKEN.match(lines[at].text)
    left_out = re.compile(_LEFT_OUT.format(re.escape(taken["rows"])), re.IGNORECASE)
    none, losses = beside.matching(_NONE), finite(log.values("eval_loss"))
    in_branch = any(_BRANCH.match(one.text) for one in lines[max(0, at - 3) : at])
    if beside.matching(left_out) or (in_branch and none is None) or _is_given(lines):
        return
    if "train" in taken["held"].lower() or (not in_branch and _is_made_elsewhere(taken, lines)):
        return  # it is meant to be of the training, or is replaced
    if len(losses) < 2 or losses[-1] > FALLEN * losses[0]:
        return
    fresh = next((one for one in lines[at + 1 :] if _FRESH.search(one.text)), None)
    series = log.series("eval_loss")
    proof = [
        line.says,
        *([f"{none[0].where} says: {none[1]}"] if none else []),
        f"the loss of the evaluation falls with the training: {losses[0]:.4g} at "
        f"{series[0][0].where}, {losses[-1]:.4g} at {series[-1][0].where}",
        *([fresh.says] if fresh else []),
    ]
    why = TAKEN.format(held=taken["held"], rows=taken["rows"])
    yield Finding("rows_in_both", 8.6, line, tuple(proof), why=why, advice=APART)


def _is_made_elsewhere(taken: re.Match, lines: list[Line]) -> bool:
    """Whether another line gives other rows to the same name."""
    held, rows = (re.escape(taken[name]) for name in ("held", "rows"))
    other = re.compile(rf"^\W*{held}\s*=\s*(?!None\b)(?!.*{held})(?!.*{rows})\S")
    return any(other.match(line.text) for line in lines)


def _is_given(lines: list[Line]) -> bool:
    """Whether a command or a file of settings names rows to evaluate, outside of code."""
    code = re.compile(r"\b(?:args|self|cfg|config|strategy)\b|getattr|\(.*\)")
    return any(_GIVEN.search(line.text) for line in lines if not code.search(line.text))
