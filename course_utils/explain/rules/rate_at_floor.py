"""A schedule that is over before the first entry: the rate stands at its floor:
`rule(log, beside)`."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_N = r"['\"]?(?:\s*[=:]\s*|\s+)['\"]?(?P<n>\d[\d.,]*(?:e-?\d+)?)(?![\w%])"
_FLOOR = re.compile(
    rf"(?<![a-z])(?:min(?:imum)?[-_ ]?(?:lr|learning[-_ ]rate)|lr[-_]?(?:min|end|floor)|eta_min|"
    rf"end_lr|final_lr){_N}",
    re.IGNORECASE,
)
_OF_CHECKPOINT = re.compile(  # an end of the schedule that came with the weights
    r"(?:checkpoint|loaded|restored|saved)\b.{0,40}?(?P<n>\d[\d,]*) for (?:the )?(?:total|decay)\b|"
    r"\b(?:restored|loaded|saved)\b.{0,30}\bsched\w*.{0,40}?\b(?:total|decay|T_max)\w*\W{1,3}"
    r"(?P<m>\d[\d,]*)",
    re.IGNORECASE,
)
_SET = re.compile(
    rf"(?<![a-z])(?:lr[-_]decay[-_](?:iters|steps|samples)|T_max|sched\w*_total){_N}", re.IGNORECASE
)
_TAKES_IT = re.compile(
    r"--use[-_]checkpoint[-_]opt_param[-_]scheduler|\bload_(?:lr_)?sched\w*['\"]?\s*[=:]\s*true|"
    r"\blr_scheduler\.load_state_dict\(|\bsched\w*\.load_state_dict\(",
    re.IGNORECASE,
)
_CONSUMED = re.compile(r"\bconsumed[ _]samples['\"]?\s*[=:]\s*(\d+)", re.IGNORECASE)
_OF_ALL = re.compile(r"(?<![\d.])\d+ ?/ *(\d{2,})(?![\d.])")
FEW, HALF, SAME, LEFT = 4, 0.5, 1e-6, 0.9  # entries; of the rate; of a number; of the steps
AT_THE_FLOOR = (
    "the schedule is over before these entries: its end is at {end}, and the run stands at {at} "
    "when they begin, so that the rate is at its floor ({floor:g}, where {asked:g} was asked for) "
    "in all of them{where_from}. The new rows are learnt at next to no rate"
)
FROM_THE_CHECKPOINT = "; that end came with the checkpoint, and is that of the run before"
MAKE_IT_ANEW = (
    "give the schedule the steps of this run and do not take it from the checkpoint (Megatron: "
    "--override-opt_param-scheduler with the new decay length, or --finetune to begin a new one), "
    "see in the first entries that the rate is the one that was asked for, and train on from the "
    "same checkpoint; neither data nor size of the model are to blame"
)


def stays_at_the_floor(log: Log, beside: Beside) -> Finding | None:
    """One and the same low rate in all entries, and an end of the schedule that lies behind."""
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v) and v > 0]
    if len(series) < FEW or any(not _same(v, series[0][1]) for _, v in series):
        return None
    entry, rate = series[0]
    floor, asked = _at(beside, rate), _asked(beside, rate)
    end = next(_ended(beside, entry), None)
    if floor is None or asked is None or end is None or not _goes_on(log):
        return None
    line, ticks, at, is_kept = end
    takes = beside.matching(_TAKES_IT)
    proof = [
        f"{said(entry, 'learning_rate')} at {entry.where}, and so in all {len(series)} entries",
        floor.says,
        asked.said,
        line.says,
        *([f"{takes[0].where} says: {takes[1]}"] if takes else []),
    ]
    words = {"end": f"{ticks:g}", "at": f"{at:g}", "floor": rate, "asked": asked.number}
    why = AT_THE_FLOOR.format(**words, where_from=FROM_THE_CHECKPOINT if is_kept else "")
    proof = tuple(dict.fromkeys(proof))
    return Finding("schedule_ends_early", 8.5, entry, proof, why=why, advice=MAKE_IT_ANEW)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME)


def _number(text: str) -> float:
    return plain_number(text.rstrip("."))


def _at(beside: Beside, rate: float) -> Line | None:
    """The line that gives this rate as the lowest one."""
    for line, words in beside.all_matching(_FLOOR):
        if _same(_number(_FLOOR.search(words)["n"]), rate):
            return line
    return None


def _asked(beside: Beside, rate: float) -> Setting | None:
    """The rate that was asked for, if it is far above the one that is used."""
    asked = [one for one in beside.of("learning_rate") if one.number and HALF * one.number > rate]
    return asked[0] if asked else None


def _ended(beside: Beside, entry: Entry) -> Iterator[tuple[Line, float, float, bool]]:
    """An end of the schedule, in steps or in rows, that lies before the first entry."""
    step, rows = entry.numbers.get("step"), _CONSUMED.search(entry.text)
    places = [one for one in (step, _number(rows[1]) if rows else None) if one]
    for pattern in (_OF_CHECKPOINT, _SET):
        for line, words in beside.all_matching(pattern):
            found = pattern.search(words)
            ticks = _number(next(filter(None, found.groups())))
            behind = [one for one in places if 0 < ticks <= one]
            if behind and step and ticks > HALF * min(places):
                yield line, ticks, min(behind), pattern is _OF_CHECKPOINT


def _goes_on(log: Log) -> bool:
    """Whether the run has steps left when the entries begin: its own end is not yet near."""
    entry = log.entries[0]
    whole = _OF_ALL.search(entry.text)
    step, planned = entry.numbers.get("step"), entry.numbers.get("planned_steps")
    steps = planned or (float(whole[1]) if whole else None)
    return bool(step and steps and step < LEFT * steps)


RULES_OF_SETTINGS = (stays_at_the_floor,)
