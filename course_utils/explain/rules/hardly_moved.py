"""Weights that were compared before and after the run, and moved little: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.answered import parts_of
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, number_of
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, thirds

LITTLE, STANDS, FALLEN = 0.01, 0.01, 0.85  # of a weight; of an evaluation; of the first losses
_VALUE = re.compile(r"tensor\((\d[\d.]*(?:e[+-]?\d+)?)(?:, [^()]*)?\)|(\d[\d.]*(?:e[+-]?\d+)?)")
_OF_A_CHANGE = re.compile(r"\(\s*([\w.\[\]]+)\s*-\s*[\w.\[\]]+\s*\)\.abs\(\)\.max\(\)")
_OF_A_SIZE = re.compile(r"[\w.\[\]]+\.std\(\)")
_CHANGE = re.compile(
    r"\bmax(?:imum)?[ _.]?(?:\|(?:d|\u0394|delta )?\w+\||(?:abs(?:olute)?[ _.]?)?(?:weight[ _.]?)?"
    r"(?:change|update|delta))(?: of [\w.]+)?\W{1,4}([\d.]+(?:e-?\d+)?)",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"\b(?:weights?|embeddings?)[ _.]?std(?: of [\w.]+)?\W{1,4}([\d.]+(?:e-?\d+)?)|"
    r"\bstd of (?:the |its )?(?:weights?|embeddings?)\W{1,4}([\d.]+(?:e-?\d+)?)",
    re.IGNORECASE,
)
FAR_TOO_SMALL = (
    "the learning rate is far too small for these weights: they have moved by at most {:.2g}, and "
    "their size is {:.2g}. With Adam a weight moves by about the rate in a step, whatever its "
    "gradient, so that a rate which suits pretrained weights leaves those alone that were drawn "
    "large"
)
LARGER = (
    "a far larger rate, with warm-up: about {:.1g} would move them by their own size in as many "
    "steps; or draw them smaller, and train for more steps"
)


def hardly_moved(log: Log, beside: Beside) -> Finding | None:
    """The largest change of a weight is a small part of its size, and nothing is learnt."""
    change, size = _first(beside, _OF_A_CHANGE, _CHANGE), _first(beside, _OF_A_SIZE, _SIZE)
    rates = finite(log.values("learning_rate"))
    if change is None or size is None or not rates or not max(rates) > 0:
        return None
    if not 0 < change[1] < LITTLE * size[1] or not _stands(log):
        return None
    rate = max(rates)
    proof = [
        f"{change[0].where} shows a change of at most {change[1]:.4g}, {size[0].where} a std of "
        f"{size[1]:.4g}",
        f"the learning rate is {rate:.2g} at most: the change is that of {change[1] / rate:.0f} "
        "such steps",
        _stands(log),
    ]
    why = FAR_TOO_SMALL.format(change[1], size[1])
    advice = LARGER.format(rate * size[1] / change[1])
    return Finding("rate_too_low", 7.5, change[0], tuple(proof), why=why, advice=advice)


def _stands(log: Log) -> str:
    """The evaluation that does not move, or the loss that hardly falls; "" if one does."""
    for name in ("eval_loss", "eval_accuracy"):
        judged = finite(log.values(name))
        if len(judged) < 3:
            continue
        if max(judged) - min(judged) > STANDS * abs(judged[0]):
            return ""
        written = log.series(name)[0][0].names[name]
        return f"{written} stays between {min(judged):.4g} and {max(judged):.4g}"
    levels = thirds(log.values("loss"))
    is_level = levels is not None and levels[2] > FALLEN * levels[0]
    return f"the loss by thirds of the log: {listed(levels)}" if is_level else ""


def _first(beside: Beside, asked: re.Pattern, said: re.Pattern) -> tuple[Line, float] | None:
    """The first value of an expression that was asked for, or of a number that is said."""
    told = ((line, m) for line in beside.words if (m := said.search(line.text)))
    both = ((line, number_of(next(filter(None, m.groups())))) for line, m in told)
    found = (*_answers(beside, asked), *((line, v) for line, v in both if v is not None))
    return next((pair for pair in found if math.isfinite(pair[1])), None)


def _answers(beside: Beside, asked: re.Pattern) -> Iterator[tuple[Line, float]]:
    """What a prompt has answered to each expression of a kind: the value at its place below."""
    lines = beside.words
    for line, below in pairwise(lines):
        if not asked.search(line.text):
            continue
        parts, values = parts_of(line.text), parts_of(below.text)
        if len(parts) != len(values):
            continue
        for part, value in zip(parts, values, strict=True):
            number = _VALUE.fullmatch(value)
            if asked.fullmatch(part) and number:
                yield below, float(number[1] or number[2])


RULES_OF_SETTINGS = (hardly_moved,)
