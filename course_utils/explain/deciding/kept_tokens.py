"""A sampler that draws from the likeliest tokens alone, beside a trainer that scores over all."""

import math
import re
from dataclasses import replace
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, said, thirds

_KEPT = re.compile(r"(?P<name>\btop_[pk])['\"]?\s*[=:]\s*(?P<value>\d*\.?\d+)")
_OF_ANOTHER_USE = re.compile(r"val|test|infer|serv|demo|default", re.IGNORECASE)
LEVEL, NOISE = 1.3, 1.25  # times the lowest third; times what is cut off at most
OF_THE_KEPT = (
    "the engine samples from the likeliest tokens alone ({}), and the log-probs that it returns "
    "are those of the kept tokens, made to add up to 1; the trainer scores over the whole "
    "vocabulary. So a token is less likely to the trainer by the log of the kept share ({:.2g} "
    "nats on average), from the first entry on and by as much in the last: no weights are stale"
)
ADD_UP = ". A weight for a whole reply multiplies them: {:.0f} tokens make {:.2g} nats"
WHOLE = (
    "sample from the whole distribution (top_p 1, top_k off), or score the replies over the same "
    "kept tokens; a correction by token, or none, only hides it. The mean ratio of the first "
    "entry tells: it must be near 1"
)


def of_kept_tokens(one: Finding, beside: Beside, log: Log) -> Finding:
    """A printed top_p or top_k, where the two differ by it alone: below 1, and always alike."""
    kept, ratios = _kept(beside), finite(log.values("importance_ratio"))
    apart, levels = log.series("logp_difference"), thirds(log.values("logp_difference"))
    if one.why or not kept or levels is None or not ratios or max(ratios) >= 1:
        return one
    if not 0 < max(levels) < LEVEL * min(levels) or levels[0] > NOISE * _most(kept):
        return one
    middle, lengths = median(v for _, v in apart), finite(log.values("length"))
    why = OF_THE_KEPT.format(", ".join(f"{name} {value:g}" for name, value, _ in kept), middle)
    why += ADD_UP.format(median(lengths), middle * median(lengths)) if lengths else ""
    proof = (
        f"{said(apart[0][0], 'logp_difference')} at {apart[0][0].where}, by thirds of the log "
        f"{listed(levels)}",
        *dict.fromkeys(line.says for *_, line in kept),
    )
    return replace(one, for_it=(*one.for_it, *proof), why=why, advice=WHOLE)


def _kept(beside: Beside) -> list[tuple[str, float, Line]]:
    """What of the distribution is sampled from in training: name, value and line, the first of
    each name."""
    values: dict[str, tuple[str, float, Line]] = {}
    for line in beside.words:
        for found in _KEPT.finditer(line.text):
            if not _OF_ANOTHER_USE.search(line.text[: found.start()]):
                values.setdefault(found["name"], (found["name"], float(found["value"]), line))
    return [one for one in values.values() if one[1] > 0 and (one[0] == "top_k" or one[1] < 1)]


def _most(kept: list[tuple[str, float, Line]]) -> float:
    """The most nats that a token may lose: top_p says which share is kept at least."""
    return max((-math.log(value) for name, value, _ in kept if name == "top_p"), default=math.inf)
