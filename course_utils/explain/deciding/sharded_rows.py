"""An evaluation that is nan where a row is cut over several processes (context parallel)."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_CUT = r"(?:context|sequence|ulysses|ring)[-_ ]?(?:attn|attention)?[-_ ]?parallel(?:ism)?"
_SIZE = re.compile(
    rf"(?:{_CUT}(?:[-_ ](?:size|degree))?|\bcp_size|\bsp_size|\bring_attn_size)['\"]?"
    r"\s*[:=]\s*['\"]?(\d+)",
    re.IGNORECASE,
)
_FINE_WITHOUT = re.compile(
    rf"(?:\b(?:without|no|disabling) (?:\w+ )?{_CUT}|{_CUT}(?:[-_ ]size)?(?: ?=| is| of)? ?1\b)"
    r"[^.;\n]{0,60}\b(?:fine|as usual|works?|normal\w*|correct\w*|finite|a number|good)\b",
    re.IGNORECASE,
)
_OF_EVALUATION = re.compile(r"\beval\w*|\bvalid\w+|\bnan\b", re.IGNORECASE)
OF_A_SHARD = (
    "the evaluation is nan where a row is cut over {} processes, and a number where it is not: a "
    "process whose part of a row holds no label (padding, or prompt alone) has a mean over "
    "nothing, 0/0, and the mean over the processes is nan with it. Training divides by the number "
    "of labels in all parts, and is fine"
)
SUM_OVER_ALL = (
    "sum the losses and the labels of all parts before the division (a newer version of the "
    "trainer may), or take the mean over those that are finite; until then evaluate the saved "
    "checkpoint with a parallel size of 1, and choose none by eval_loss"
)


def told(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with the size over which a row is cut, if without it the evaluation is fine."""
    if not log.values("eval_loss") or not all(map(math.isnan, log.values("eval_loss"))):
        return one
    before = [found for found in _sizes(beside) if place(found[0]) < place(log.entries[0])]
    in_force = before[-1] if before else None
    if in_force is None or in_force[1] < 2:
        return one
    compared = _number_without(log, before) or _said_without(beside)
    if not compared:
        return one
    line, size = in_force
    return replace(
        one,
        weight=max(one.weight, 7.0),
        for_it=(*one.for_it, line.says, compared),
        why=OF_A_SHARD.format(size),
        advice=SUM_OVER_ALL,
    )


def _sizes(beside: Beside) -> Iterator[tuple[Line, int]]:
    for line in beside.words:
        if found := _SIZE.search(line.text):
            yield line, int(found[1])


def _number_without(log: Log, sizes: list[tuple[Line, int]]) -> str:
    """The evaluation of an earlier run, whose rows were whole; "" if there is none."""
    for run in reversed(log.earlier):
        judged = run.series("eval_loss")
        before = [size for line, size in sizes if place(line) < place(run.entries[0])]
        if judged and all(math.isfinite(v) for _, v in judged) and before and before[-1] == 1:
            entry = judged[-1][0]
            return f"with a size of 1: {said(entry, 'eval_loss')} at {entry.where}"
    return ""


def _said_without(beside: Beside) -> str:
    """What the writer says of a run whose rows are whole; "" if nothing."""
    for line in beside.told():
        found = _FINE_WITHOUT.search(line.text)
        if found and _OF_EVALUATION.search(line.text):
            return f"{line.where} says: {found[0][:MAX_QUOTE]}"
    return ""
