"""The engine keeps the keys of old weights: sampler and trainer part with each update since it
started, and agree again where it starts anew: `rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose
from course_utils.explain.paste.entries import Entry, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_KEPT = re.compile(
    r"\b(?:recompute_kv_cache_after_weight_updates?|reset_prefix_cache(?:_\w+)?|"
    r"flush_cache_(?:on|after)_\w+)['\"]?\s*[:=]\s*['\"]?false\b",
    re.IGNORECASE,
)
_RESET = re.compile(r"\b(?:successfully reset prefix cache|prefix cache (?:was )?reset)\b", re.I)
APART = (  # a field, and its value where sampler and trainer agree
    ("token_error", 1.0),
    ("logp_difference", 0.0),
    ("rollout_kl", 0.0),
    ("probability_difference", 0.0),
)
FEW, GROWS, FALLS, NEAR = 3, 2.0, 0.5, 2.0  # entries; times the first; of the last; the first start
ONE_START = (
    "the log shows one start of the engine: weights that never reach it would part the two as well"
)
KEPT = (
    "the engine keeps the keys and values of its prefix cache over updates of the weights: a "
    "prompt that shares a beginning with an earlier one is answered with what older weights made "
    "of it, so that sampler and trainer part further with each update since the engine started"
)
RESET = "{}: true, so that the cache is emptied at each update, or prefix caching off in the engine"

Tooth = list[tuple[Entry, float]]


def cache_kept_over_updates(log: Log, beside: Beside) -> Finding | None:
    """The setting keeps the cache, and the difference grows, the more so where it falls back."""
    kept = beside.matching(_KEPT)
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    for name, sound in APART if kept else ():
        teeth = _teeth([(e, e.numbers[name] - sound) for e in entries if name in e.numbers])
        if not _all_grow(teeth):
            continue
        several = len(teeth) > 1
        first, setting = teeth[0][0][0], re.split(r"['\"]?\s*[:=]", kept[1])[0]
        proof = [f"{kept[0].where} says: {kept[1]}"]
        proof += [
            f"from {said(tooth[0][0], name)} at {tooth[0][0].where} to {said(tooth[-1][0], name)} "
            f"at {tooth[-1][0].where}"
            for tooth in teeth[:3]
        ]
        if several:
            proof.append("it falls back to its start each time and grows again")
        proof += _resets(beside, entries)
        return Finding(
            "prefix_cache_kept",
            8.2 if several else 7.2,
            first,
            tuple(proof),
            () if several else (ONE_START,),
            why=KEPT,
            advice=RESET.format(setting),
        )
    return None


def _teeth(series: Tooth) -> list[Tooth]:
    """The parts of a series, where it falls back to less than half."""
    teeth: list[Tooth] = []
    for entry, value in series:
        if not math.isfinite(value):
            continue
        if not teeth or value < FALLS * teeth[-1][-1][1]:
            teeth.append([])
        teeth[-1].append((entry, value))
    return teeth


def _all_grow(teeth: list[Tooth]) -> bool:
    """Whether the difference begins near one level in each part, and grows in each long one."""
    if not teeth or len(teeth[0]) < FEW or teeth[0][0][1] <= 0:
        return False
    starts = [tooth[0][1] for tooth in teeth]
    if max(starts) > NEAR * starts[0]:
        return False
    long = [tooth for tooth in teeth if len(tooth) >= FEW]
    is_one = len(teeth) == 1 and len(teeth[0]) < 2 * FEW
    return not is_one and all(tooth[-1][1] > GROWS * tooth[0][1] for tooth in long)


def _resets(beside: Beside, entries: list[Entry]) -> list[str]:
    """Where the engine says that it emptied its cache, if it does so less than once an entry."""
    lines = [one for one, _ in beside.all_matching(_RESET) if not is_prose(one.text)]
    if not lines or len(lines) >= len(entries):
        return []
    among = [n for n in map(place, lines) if place(entries[0]) < n < place(entries[-1])]
    where = ", ".join(line.where for line in lines[:3])
    return [f"the cache is reset at {where}" + ("" if among else ", and at no entry between")]


RULES_OF_SETTINGS = (cache_kept_over_updates,)
