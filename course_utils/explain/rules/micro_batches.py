"""Gradients that are summed over micro-batches and not averaged: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from itertools import combinations

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_HEAD = re.compile(
    r"(?<![\w.])(?P<name>\$?MBS?|micro_?batch(?:es|_size)?\w*|mbs|"
    r"grad(?:ient)?_?accum\w*|accum\w*|n_micro_batches|num_micro_?batches)\s*[=:]\s*(?P<n>\d+)",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"accum|n_micro|num_micro|micro_?batches", re.IGNORECASE)
_TOO_LATE = re.compile(r"=\s*[\w.]*backward\w*\(.*\)\s*/\s*\w*(?:micro|accum)\w*", re.IGNORECASE)
_BACKWARD = re.compile(r"\bloss\w*\.backward\(|\.backward\(loss\)")
_DIVIDED = re.compile(r"/=?\s*\(?[\w.]*(?:micro|accum)\w*", re.IGNORECASE)
SAME_LOSS, NEAR, APART = 0.02, 0.25, 2.0  # of a loss; of a ratio; the least of ratios
SUMMED = (
    "the gradient is the sum over the micro-batches of a step, and not their mean: the more of "
    "them, the larger it is, while the logged loss, which is divided, stays the same. With "
    "clipping every step is cut to the limit; without it the rate is that many times too high"
)
DIVIDE = (
    "divide the loss by the number of micro-batches before backward, or better by the number of "
    "tokens of the whole batch; then one batch must have the same gradient norm however it is split"
)


def summed_over_micro_batches(log: Log, beside: Beside) -> Finding | None:
    """Runs of one first loss, whose first gradients are apart as their micro-batches are."""
    late = beside.matching(_TOO_LATE)
    code = [late[0].says] if late else []
    for (one, few, name), (other, many, _) in combinations(
        sorted(_runs(log, beside), key=_number), 2
    ):
        if many < APART * few or not _apart(one, other, many / few):
            continue
        ratio = other.numbers["grad_norm"] / one.numbers["grad_norm"]
        proof = [
            f"{name}: the first loss is {one.numbers['loss']:.4g} at {one.where} and "
            f"{other.numbers['loss']:.4g} at {other.where}, and grad_norm "
            f"{one.numbers['grad_norm']:.4g} and {other.numbers['grad_norm']:.4g}: {ratio:.3g} "
            f"times as much with {many / few:g} times as many micro-batches",
            *code,
        ]
        limit = beside.printed("max_grad_norm")
        if limit and limit.number and other.numbers["grad_norm"] > limit.number:
            proof.append(limit.said)
        key = "split_changes_loss"
        return Finding(key, 9.0, other, tuple(proof), why=SUMMED, advice=DIVIDE)
    return _by_code(log, beside, code)


def _by_code(log: Log, beside: Beside, code: list[str]) -> Finding | None:
    """Code that divides what a function returns that has called backward already."""
    called, divided = beside.matching(_BACKWARD), beside.all_matching(_DIVIDED)
    if not code or not log.entries or called is None or len(divided) > 1:
        return None
    code.append(called[0].says)
    against = ("no two runs with other numbers of micro-batches are in the log",)
    key, entry = "split_changes_loss", log.entries[0]
    return Finding(key, 6.0, entry, tuple(code), against, why=SUMMED, advice=DIVIDE)


def _number(run: tuple[Entry, float, str]) -> float:
    return run[1]


def _apart(one: Entry, other: Entry, times: float) -> bool:
    losses = [entry.numbers["loss"] for entry in (one, other)]
    ratio = other.numbers["grad_norm"] / one.numbers["grad_norm"]
    alike = abs(losses[1] - losses[0]) <= SAME_LOSS * abs(losses[0])
    return alike and abs(ratio / times - 1) <= NEAR


def _runs(log: Log, beside: Beside) -> Iterator[tuple[Entry, float, str]]:
    """The first entry of each run, with a number that its micro-batches go with, and its name."""
    after, names = 0, set()
    for run in (*log.earlier, log):
        first = next((e for e in run.entries if _is_told(e)), None)
        head = _headed(beside, after, place(run.entries[0])) if run.entries else None
        after = place(run.entries[-1]) if run.entries else after
        if first is None or head is None:
            continue
        names.add(head["name"].lower())
        number = float(head["n"])
        if number > 0 and len(names) == 1:
            yield first, number if _COUNTS.search(head["name"]) else 1 / number, head["name"]


def _is_told(entry: Entry) -> bool:
    values = [entry.numbers.get(name, 0.0) for name in ("loss", "grad_norm")]
    return all(math.isfinite(value) and value > 0 for value in values)


def _headed(beside: Beside, after: int, until: int) -> re.Match | None:
    """The last setting of micro-batches between two places, nearest to the run."""
    lines: list[Line] = [line for line in beside.words if after < place(line) < until]
    found = [match for line in lines for match in _HEAD.finditer(line.text)]
    return found[-1] if found else None


RULES_OF_SETTINGS = (summed_over_micro_batches,)
