"""An optimizer that is asked for the format of what it holds, and answers bfloat16:
`rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.stated.steps.rounded import KEEP_FLOAT32, LARGER_HIDES

_ASKED = re.compile(r"^(?=.*dtype\b)(?:.*\boptim\w*\.(?:param_groups|state)\b|.*\bexp_avg\w*\b)")
_BFLOAT16 = re.compile(r"^\W*(?:torch\.)?bfloat16\b(?!.*float32)")
_OF_CHANGES = re.compile(
    r"\b(?:share|part|fraction|percent\w*|how many)\b.*\b(?:elements?|weights?|values?|entries)\b"
    r".*\b(?:differ|chang|mov|updat)\w*",
    re.IGNORECASE,
)
_SHARE = re.compile(r"^\W*(?P<who>\w.*\S)\s+(?P<share>\d+(?:\.\d+)?) ?%\W*$")
_SHARE_OF_STEP = re.compile(
    r"\b(?:elements|weights|params|parameters|values) (?:changed|updated|moved)\b[^\d|]{0,25}?"
    r"(?P<share>\d+(?:\.\d+)?(?:e-?\d+)?)(?P<percent> ?%)?",
    re.IGNORECASE,
)
MOST, FEW, OF_TOP = 0.6, 0.05, 0.01  # of the elements that a step changes; of the highest rate
SMALL, LITTLE, BELOW = 2e-5, 50.0, 6  # a rate; percent; lines
FEWEST = 3  # entries
SAME, TIMES = 0.05, 4.0  # of a rate; by which another run has fallen further
ROUNDED = (
    "the optimizer holds the weights in bfloat16, with no float32 copy of them: at this rate most "
    "updates are smaller than half the distance of two numbers of bfloat16 there, and are "
    "rounded away, whatever the gradients are"
)
_OF_ITSELF = re.compile(r"\baccelerate\W{1,3}0\.(?:1\d|2\d)\b")
OLD = "; accelerate makes that copy under FSDP from 0.30 on ({} says: {})"


def held_in_bfloat16(log: Log, beside: Beside) -> Finding | None:
    """The optimizer's weights or moments are bfloat16 and few weights change, or another run of
    the same rates learns far more."""
    answers = list(_answers(beside))
    rates = finite(rate for run in (*log.earlier, log) for rate in run.values("learning_rate"))
    if not answers or not rates or not 0 < max(rates) <= SMALL:
        return None
    few, (stuck, told) = _changed(beside), _behind(log)
    if not few and not told:
        return None
    entry = stuck.entries[0]
    proof = (*answers, *few, *told)
    old = beside.matching(_OF_ITSELF)
    advice = KEEP_FLOAT32 + (OLD.format(old[0].where, old[1]) if old else "") + LARGER_HIDES
    return Finding("rounding_swallows", 8.6, entry, proof, why=ROUNDED, advice=advice)


def ever_fewer_change(log: Log, beside: Beside) -> Finding | None:
    """The optimizer's weights are bfloat16, and the share that a step changes falls to nothing."""
    answers = list(_answers(beside))
    shares = [(e, m) for e in log.entries if (m := _SHARE_OF_STEP.search(e.text))]
    top = max(finite(log.values("learning_rate")), default=0.0)
    shares = [(e, m) for e, m in shares if e.numbers.get("learning_rate", 0.0) > OF_TOP * top]
    values = [float(found["share"]) / (100 if found["percent"] else 1) for _, found in shares]
    if not answers or len(values) < FEWEST or max(values) > MOST or min(values) > FEW:
        return None
    if not any(finite(log.values("grad_norm"))):
        return None
    (first, one), (last, other) = (shares[values.index(pick(values))] for pick in (max, min))
    proof = (
        *answers,
        f"{first.where}: {' '.join(one[0].split())}; {last.where}: {' '.join(other[0].split())}, "
        f"at a rate of {last.numbers['learning_rate']:.2g}; in float32 nearly all elements change "
        "in each step",
        f"gradients arrive: grad_norm up to {max(finite(log.values('grad_norm'))):.3g}",
    )
    advice = KEEP_FLOAT32 + LARGER_HIDES
    return Finding("rounding_swallows", 8.7, last, proof, why=ROUNDED, advice=advice)


def _answers(beside: Beside) -> Iterator[str]:
    """What a prompt answers to the question for the format of what the optimizer holds."""
    for line, below in pairwise(line for line in beside.words):
        if _ASKED.match(line.text) and _BFLOAT16.search(below.text):
            answer = below.text.strip()[:60]
            yield f"{below.where} says {answer} to {line.text.strip()[:MAX_QUOTE]}"


def _changed(beside: Beside) -> tuple[str, ...]:
    """The shares of the weights that differ from the start, if one of them is small."""
    lines = beside.words
    at = next((n for n, line in enumerate(lines) if _OF_CHANGES.search(line.text)), None)
    if at is None:
        return ()
    shares: list[tuple[Line, re.Match]] = []
    for line in lines[at + 1 : at + BELOW]:
        if found := _SHARE.match(line.text):
            shares.append((line, found))
    if not shares or min(float(found["share"]) for _, found in shares) > LITTLE:
        return ()
    told = ", ".join(f"{' '.join(m['who'].split())} {m['share']} %" for _, m in shares)
    return (f"{shares[0][0].where}, of the weights that have changed: {told}",)


def _behind(log: Log) -> tuple[Log, tuple[str, ...]]:
    """The run that falls least, and how far another has fallen at the same rates."""
    runs = [run for run in (*log.earlier, log) if len(_losses(run)) > 1]
    falls = [(_fall(run), run) for run in runs]
    (least, stuck), (most, other) = (
        pick(falls, key=lambda pair: pair[0]) if falls else (0.0, log) for pick in (min, max)
    )
    rates = [run.values("learning_rate") for run in (stuck, other)]
    alike = all(rates) and math.isclose(rates[0][0], rates[1][0], rel_tol=SAME)
    if stuck is other or not alike or most < TIMES * max(least, 1e-9) or most <= 0:
        return stuck, ()
    ends = ((_losses(run)[0], _losses(run)[-1]) for run in (stuck, other))
    places = [run.entries[0].where for run in (stuck, other)]
    said = [f"{a:.4g} to {b:.4g} from {at} on" for (a, b), at in zip(ends, places, strict=True)]
    return stuck, (f"the loss at the same rates: {', '.join(said)}",)


def _losses(run: Log) -> list[float]:
    return finite(run.values("loss"))


def _fall(run: Log) -> float:
    losses = _losses(run)
    return (losses[0] - losses[-1]) / abs(losses[0]) if losses[0] else 0.0


RULES_OF_SETTINGS = (held_in_bfloat16, ever_fewer_change)
