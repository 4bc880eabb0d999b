"""A schedule that is over long before its run: the rate stays at 0, or climbs back."""

import math
import re
from itertools import pairwise

from course_utils.explain.beside import Beside
from course_utils.explain.entries import Entry, Line
from course_utils.explain.finding import Finding
from course_utils.explain.log import Log
from course_utils.explain.numbers import said

Rates = list[tuple[Entry, float]]
NEAR = 0.15  # of a whole: how far a share of the run may be from it
AT_END, ALIKE, BACK, FEW = 0.02, 0.1, 0.3, 3  # of the highest rate; entries that mirror others
ONCE_A_PROCESS = (
    "the learning rate is at 0 after one part of the run: a scheduler that accelerate has prepared "
    "takes a step for each process, and was made for the steps of one",
    "make it for max_train_steps * num_processes, warm-up included, or do not hand it to prepare()",
)
BEHIND = "; behind its end a cosine climbs back the way it came"
PAST = (
    "the schedule is over before the run is and is stepped on: behind its end a cosine climbs back "
    "the way it came, so that most of the run has other rates than it was meant to",
    "make the schedule for the optimizer steps of the whole run, and step it once an update (one "
    "that accelerate has prepared takes a step for each process)",
)
_PROCESSES = re.compile(r"\b(?:num_processes|world(?:_size)?|nproc_per_node)\W{1,3}(\d+)")
_ACCELERATE = re.compile(r"accelerat|num_processes", re.IGNORECASE)
_OF_ALL = re.compile(r"(?<![\d/])(\d+)/(\d+)\b(?!/)")
_PREPARED = re.compile(r"\bprepare\((?:.*\W)?\w*sched\w*.*", re.IGNORECASE)
_WARMS_UP = re.compile(r"(?:num_)?warmup_steps['\"]?\s*[=:]\s*(\d+)")
_CYCLES = re.compile(r"\bcycl|num_cycles|restarts?\b|triangular", re.IGNORECASE)


def scheduler_of_each_process(log: Log, beside: Beside) -> Finding | None:
    """The rate reaches 0 at the share of the run that one of the printed processes is."""
    found, series = _processes(beside), log.series("learning_rate")
    processes = int(_PROCESSES.search(found[1])[1]) if found else 1
    at = next((i for i, (_, rate) in enumerate(series) if rate == 0 and i), 0)
    if processes < 2 or not at or any(rate for _, rate in series[at:]):
        return None
    end = series[at][0]
    step, steps = _step(end), _steps(end, beside)
    if not steps or abs(step * processes / steps - 1) > NEAR:
        return None
    proof = (
        f"{end.where}: {said(end, 'learning_rate')} from there on, at step {step:g} of {steps:g}",
        f"{found[0].where} says: {found[1]}",
    )
    why, advice = ONCE_A_PROCESS
    return Finding("schedule_ends_early", 8.5, end, proof, why=why, advice=advice)


def climbs_back(log: Log, beside: Beside) -> Finding | None:
    """The rate falls smoothly to 0 and climbs back the way it came, in one run."""
    series, at = log.series("learning_rate"), mirrored(log)
    if at is None or beside.matching(_CYCLES):
        return None
    (end, _), (top, _) = series[at], max(series[at:], key=lambda pair: pair[1])
    step, steps = _step(end), _steps(end, beside)
    of_all = f" of {steps:g}" if steps else ""
    proof = [
        f"{said(series[at - 1][0], 'learning_rate')} at {series[at - 1][0].where}, "
        f"{said(end, 'learning_rate')} at {end.where} (step {step:g}{of_all}), and back the "
        f"way it came: {said(series[at + 1][0], 'learning_rate')} at {series[at + 1][0].where}, "
        f"{said(top, 'learning_rate')} at {top.where}"
    ]
    found = _processes(beside)
    processes = int(_PROCESSES.search(found[1])[1]) if found else 1
    if processes < 2 or not steps or abs(step * processes / steps - 1) > NEAR:
        why, advice = PAST
        return Finding("schedule_ends_early", 7.0, end, tuple(proof), why=why, advice=advice)
    proof.append(f"{found[0].where} says: {found[1]}; {steps:g} / {processes} is {step:g}")
    proof += _warm_too_early(series[:at], beside, processes)
    if prepared := beside.matching(_PREPARED):
        proof.append(f"{prepared[0].where} says: {prepared[1]}")
    why, advice = ONCE_A_PROCESS
    return Finding("schedule_ends_early", 8.5, end, tuple(proof), why=why + BEHIND, advice=advice)


def _processes(beside: Beside) -> tuple[Line, str] | None:
    """What says how many processes accelerate has begun."""
    return beside.matching(_PROCESSES) if beside.matching(_ACCELERATE) else None


def mirrored(log: Log) -> int | None:
    """The number of the entry at which the rate is at its end, and behind which it has the rates
    of before in the opposite order; None where no step is like this, or the run is resumed there.
    """
    series = [(e, v) for e, v in log.series("learning_rate") if math.isfinite(v)]
    if len(series) < 2 * FEW + 1 or len(series) < len(log.values("learning_rate")):
        return None
    top = max(rate for _, rate in series)
    for at in range(FEW, len(series) - FEW):
        _, rate = series[at]
        is_low = rate <= AT_END * top and series[at - 1][1] >= rate <= series[at + 1][1]
        if is_low and top > 0 and _is_mirror(series, at, top) and not _is_resumed(log, series, at):
            return at
    return None


def _is_mirror(series: Rates, at: int, top: float) -> bool:
    """Whether the rates behind an entry are those before it, at the same distance in steps."""
    places = [_step(entry) for entry, _ in series]
    if any(now >= then for now, then in pairwise(places)):
        places = [float(number) for number in range(len(series))]
    begin = max(range(at), key=lambda number: series[number][1])
    known = (series[begin : at + 1], places[begin : at + 1])
    behind = range(at + 1, len(series))
    both = ((series[n][1], _rate_at(*known, 2 * places[at] - places[n])) for n in behind)
    pairs = [(now, before) for now, before in both if before is not None]
    alike = [abs(now - before) <= ALIKE * top for now, before in pairs]
    return len(pairs) >= FEW and all(alike) and max(now for now, _ in pairs) >= BACK * top


def _rate_at(series: Rates, places: list[float], place: float) -> float | None:
    """The rate at a place, between the entries around it; None outside of all."""
    for number in range(1, len(places)):
        low, high = places[number - 1], places[number]
        if low <= place <= high:
            (_, one), (_, other) = series[number - 1], series[number]
            return one + (other - one) * (place - low) / (high - low)
    return None


def _is_resumed(log: Log, series: Rates, at: int) -> bool:
    near = [entry for entry, _ in series[at - FEW : at + FEW]]
    return any(entry is one for entry, _ in log.resumes for one in near)


def _warm_too_early(series: Rates, beside: Beside, processes: int) -> list[str]:
    """Where the rate is highest, if that is the printed warm-up by the number of processes."""
    said_so = beside.matching(_WARMS_UP)
    entry = max(series, key=lambda pair: pair[1])[0]
    asked = int(_WARMS_UP.search(said_so[1])[1]) if said_so else 0
    if not asked or abs(_step(entry) * processes / asked - 1) > NEAR:
        return []
    return [
        f"{said_so[0].where} says: {said_so[1]}, and the rate is at its highest at step "
        f"{_step(entry):g} ({entry.where})"
    ]


def _step(entry: Entry) -> float:
    counted = _OF_ALL.search(entry.text)
    return entry.numbers.get("step", float(counted[1]) if counted else 0.0)


def _steps(entry: Entry, beside: Beside) -> float:
    """The steps of the whole run."""
    counted, whole = _OF_ALL.search(entry.text), beside.number("max_steps")
    return float(counted[2]) if counted else (whole and whole.number) or 0.0


RULES_OF_SETTINGS = (scheduler_of_each_process, climbs_back)
