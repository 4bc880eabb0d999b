"""Two runs that take the same steps and print other gradient norms: `rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_CHANGED = re.compile(r"^\s*\+(?!\+).*\b(?:grad_norm|full_tensor|num_tokens|num_items|tokens)\b")
_EQUAL = re.compile(  # a number of the weights, or of what is held out, that both runs have
    r"\b(?:checksum|eval\w*|held[- ]out|val(?:idation)?)\b.*?(?<![\d.])(\d+\.\d{3,})\b.*?"
    r"(?<![\d.])\1(?!\d)",
    re.IGNORECASE,
)
FEW, SAME, APART, STEADY = 6, 2e-4, 1.3, 0.35  # steps; of a loss; times; of a ratio
MOVED = 0.05  # of the first loss: what has been learnt in these steps


def same_steps(log: Log, beside: Beside) -> Finding | None:
    """At all steps that two runs share the losses are the same, and the norms a factor apart."""
    equal = beside.matching(_EQUAL)
    for run in reversed(log.earlier) if equal else ():
        shared = _shared(run, log)
        if len(shared) < FEW or not _is_same_training(shared):
            continue
        ratios = [now.numbers["grad_norm"] / one.numbers["grad_norm"] for one, now in shared]
        lowest, highest = min(ratios), max(ratios)
        if (highest > 1 / APART and lowest < APART) or highest > (1 + STEADY) * lowest:
            continue
        old, new = shared[-1]
        names = [n for n in ("step", "loss", "grad_norm") if n in new.numbers]
        code = [line for line in beside.words if _CHANGED.match(line.text)]
        proof = (
            f"{said(old, *names)} at {old.where}, {said(new, *names)} at {new.where}; the losses "
            f"are the same at all {len(shared)} steps that both have",
            f"grad_norm is {lowest:.3g} to {highest:.3g} times the other run's throughout",
            equal[0].says,
            *(line.says for line in code[:2]),
        )
        return Finding("logged_otherwise", 4.2, new, proof)
    return None


def _shared(run: Log, log: Log) -> list[tuple[Entry, Entry]]:
    """The entries of both at the same steps, with a finite loss and norm."""
    old = {e.numbers["step"]: e for e in run.entries if _is_told(e)}
    return [(old[e.numbers["step"]], e) for e in log.entries if _is_told(e, old)]


def _is_told(entry: Entry, among: dict[float, Entry] | None = None) -> bool:
    if not {"step", "loss", "grad_norm"} <= entry.numbers.keys():
        return False
    is_known = among is None or entry.numbers["step"] in among
    values = [entry.numbers[name] for name in ("loss", "grad_norm")]
    return is_known and all(math.isfinite(value) and value > 0 for value in values)


def _is_same_training(shared: list[tuple[Entry, Entry]]) -> bool:
    """Whether the losses are the same and have moved, so that updates were made."""
    losses = [(one.numbers["loss"], now.numbers["loss"]) for one, now in shared]
    steps = [one.numbers["step"] for one, _ in shared]
    alike = all(abs(now - one) <= SAME * one for one, now in losses)
    counts_up = all(a < b for a, b in pairwise(steps))
    return alike and counts_up and losses[-1][0] < (1 - MOVED) * losses[0][0]


RULES_OF_SETTINGS = (same_steps,)
