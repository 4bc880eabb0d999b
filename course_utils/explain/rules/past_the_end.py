"""A schedule that is over long before its run: the rate stays at 0, or climbs back."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_printed
from course_utils.explain.rules.mirrors import OF_ALL, Rates, lowest, mirrored, step_of

NEAR = 0.15  # of a whole: how far a share of the run may be from it
MANY = 3  # turns
MEANT_SO = "a schedule that is meant to go up and down does the same"
ONCE_A_PROCESS = (
    "the learning rate is at 0 after one part of the run: a scheduler that accelerate has prepared "
    "takes a step for each process, and was made for the steps of one",
    "make it for max_train_steps * num_processes, warm-up included, or do not hand it to prepare()",
)
TOO_FAST = (
    "the schedule runs {} times too fast: a scheduler that accelerate has prepared takes a step "
    "for each process, and was made for the steps of one, so that warm-up and fall are over after "
    "that part of their updates"
)
BEHIND = "; behind its end a cosine climbs back the way it came"
PAST = (
    "the schedule is over before the run is and is stepped on: behind its end a cosine climbs back "
    "the way it came, so that most of the run has other rates than it was meant to",
    "make the schedule for the optimizer steps of the whole run, and step it once an update (one "
    "that accelerate has prepared takes a step for each process)",
)
_PROCESSES = re.compile(r"\b(?:num_processes|world(?:_size)?|nproc_per_node)\W{1,3}(\d+)")
_CARDS = re.compile(r"(?<![\w.-])(\d+) ?(?:x ?(?:NVIDIA )?(?:GPUs?\b|[A-Z]{1,3}\d{2,4}\w*)|GPUs\b)")
_ACCELERATE = re.compile(r"accelerat|num_processes", re.IGNORECASE)
_PREPARED = re.compile(r"\bprepare\((?:.*\W)?\w*sched\w*.*", re.IGNORECASE)
_MADE_FOR = re.compile(  # a schedule's length, by its name in the code
    r"\b(?:num_training_steps|total_steps|T_max|max_steps)\s*=\s*(?P<name>[a-z_]\w*)(?![\w.(*/])"
)
_WARMS_UP = re.compile(r"(?:num_)?warmup(?:_steps)?['\"]?\s*[=:]\s*(\d+)")
_CYCLES = re.compile(r"\bcycl|num_cycles(?!\W{1,3}0?\.5\b)|restarts?\b|triangular", re.IGNORECASE)
_NOT_ASKED = re.compile(
    r"(?:\b(?:not|no|without|never|instead of|rather than)|n't)\s+(?:[\w.\"'`-]+\s+){0,2}"
    r"[\"'`]?[\w-]*$",
    re.IGNORECASE,
)


def scheduler_of_each_process(log: Log, beside: Beside) -> Finding | None:
    """The rate reaches 0 at the share of the run that one of the printed processes is."""
    found, series = _processes(beside), log.series("learning_rate")
    processes = _number(found)
    at = next((i for i, (_, rate) in enumerate(series) if rate == 0 and i), 0)
    if processes < 2 or not at or any(rate for _, rate in series[at:]):
        return None
    end = series[at][0]
    step, steps = step_of(end), _steps(end, beside)
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
    if at is None or _asks_for_cycles(beside):
        return None
    (end, _), (top, _) = series[at], max(series[at:], key=lambda pair: pair[1])
    step, steps = step_of(end), _steps(end, beside) or _printed_total(log, beside)
    at_step = f" (step {step:g}{f' of {steps:g}' if steps else ''})" if step else ""
    proof = [
        f"{said(series[at - 1][0], 'learning_rate')} at {series[at - 1][0].where}, "
        f"{said(end, 'learning_rate')} at {end.where}{at_step}, and back the "
        f"way it came: {said(series[at + 1][0], 'learning_rate')} at {series[at + 1][0].where}, "
        f"{said(top, 'learning_rate')} at {top.where}"
    ]
    found, prepared = _processes(beside), beside.matching(_PREPARED)
    processes = _number(found)
    times = _odd_near(step * processes / steps) if steps and processes > 1 else 0
    if not times or (times > 1 and not prepared):
        return _past(series, end, tuple(proof), prepared)
    again = f", and {times} times that {times * steps / processes:.0f}" if times > 1 else ""
    of_one = f"{steps:g} / {processes} is about {steps / processes:.0f}"
    proof.append(f"{found[0].where} says: {found[1]}; {of_one}{again}")
    proof += _warm_too_early(series[:at], beside, processes)
    if prepared:
        proof.append(f"{prepared[0].where} says: {prepared[1]}")
    why, advice = ONCE_A_PROCESS
    return Finding("schedule_ends_early", 8.5, end, tuple(proof), why=why + BEHIND, advice=advice)


def _asks_for_cycles(beside: Beside) -> bool:
    """Whether a line names a schedule with cycles, other than to say that it is none; the writer's
    own words may ask whether it is one."""
    asked = any("?" in line.text and _CYCLES.search(line.text) for line in beside.told())
    lines = (line for line in beside.words if not asked or is_printed(line.text))
    found = ((line.text, m) for line in lines for m in _CYCLES.finditer(line.text))
    return any(not _NOT_ASKED.search(text[: one.start()]) for text, one in found)


def peaks_too_early(log: Log, beside: Beside) -> Finding | None:
    """The rate climbs evenly and turns at the printed warm-up by the number of processes."""
    series, found = log.series("learning_rate"), _processes(beside)
    prepared, processes = beside.matching(_PREPARED), _number(found)
    if len(series) < 2 * MANY or processes < 2 or prepared is None or mirrored(log) is not None:
        return None
    top = max(range(len(series)), key=lambda number: series[number][1])
    climb = [(step_of(entry), rate) for entry, rate in series[: top + 1]]
    peak, high = climb[-1]
    is_even = all(s > 0 and abs(r / s * peak / high - 1) <= NEAR for s, r in climb)
    early = _warm_too_early(series, beside, processes)
    if len(climb) < MANY or not is_even or not early or top + 1 >= len(series):
        return None
    entry, end = series[top][0], next((e for e, rate in series[top:] if rate == 0), None)
    proof = [
        *early,
        f"{found[0].where} says: {found[1]}; the rate climbs {processes} times as fast",
    ]
    proof += [f"{prepared[0].where} says: {prepared[1]}"]
    behind = next((e for e, rate in series if end and step_of(e) > step_of(end) and rate > 0), None)
    if end is not None:
        proof.append(f"{said(end, 'learning_rate')} at {end.where}, at step {step_of(end):g}")
    if behind is not None:
        proof.append(f"{said(behind, 'learning_rate')} at {behind.where}, behind that end")
    advice = ONCE_A_PROCESS[1]
    why = TOO_FAST.format(processes) + (BEHIND if behind else "")
    return Finding("schedule_ends_early", 8.5, entry, tuple(proof), why=why, advice=advice)


def _odd_near(ratio: float) -> int:
    """The odd number that a ratio is near: at each of them a cosine is at its end again; or 0.

    >>> [_odd_near(ratio) for ratio in (1.02, 2.93, 2.0, 0.4)]
    [1, 3, 0, 0]
    """
    odd = 2 * round((ratio - 1) / 2) + 1
    return odd if odd > 0 and abs(ratio - odd) <= NEAR else 0


def _past(
    series: Rates, end: Entry, proof: tuple[str, ...], prepared: tuple[Line, str] | None
) -> Finding:
    """A schedule of too few steps, for whatever reason; one that comes again and again."""
    turns = list(lowest(series))
    if prepared:
        proof = (*proof, f"{prepared[0].where} says: {prepared[1]}")
    elif len(turns) >= MANY:
        counted = f"the rate is at its lowest {len(turns)} times"
        return Finding("schedule_repeats", 7.0, end, (*proof, counted), (MEANT_SO,))
    why, advice = PAST
    return Finding("schedule_ends_early", 7.0, end, proof, (MEANT_SO,), why=why, advice=advice)


def _processes(beside: Beside) -> tuple[Line, str] | None:
    """What says how many processes accelerate has begun, or on how many GPUs it prepares a
    schedule."""
    if not beside.matching(_ACCELERATE):
        return None
    found = beside.matching(_PROCESSES)
    return found or (beside.matching(_CARDS) if beside.matching(_PREPARED) else None)


def _number(found: tuple[Line, str] | None) -> int:
    """How many processes such words say."""
    counted = found and (_PROCESSES.search(found[1]) or _CARDS.search(found[1]))
    return int(counted[1]) if counted else 1


def _warm_too_early(series: Rates, beside: Beside, processes: int) -> list[str]:
    """Where the rate is highest, if that is the printed warm-up by the number of processes."""
    said_so = beside.matching(_WARMS_UP)
    entry = max(series, key=lambda pair: pair[1])[0]
    asked = int(_WARMS_UP.search(said_so[1])[1]) if said_so else 0
    if not asked or abs(step_of(entry) * processes / asked - 1) > NEAR:
        return []
    return [
        f"{said_so[0].where} says: {said_so[1]}, and the rate is at its highest at step "
        f"{step_of(entry):g} ({entry.where})"
    ]


def _printed_total(log: Log, beside: Beside) -> float:
    """The number that is printed for the name which the schedule's length has in the code."""
    made, last = beside.matching(_MADE_FOR), step_of(log.entries[-1])
    if made is None or not last:
        return 0.0
    name = re.escape(_MADE_FOR.search(made[1])["name"])
    printed = re.compile(rf"(?<![\w./]){name}\W{{1,3}}(?P<n>\d{{2,}})(?![\w.])")
    totals = (float(printed.search(words)["n"]) for _, words in beside.all_matching(printed))
    return next((total for total in totals if total >= last), 0.0)


def _steps(entry: Entry, beside: Beside) -> float:
    """The steps of the whole run."""
    counted, whole = OF_ALL.search(entry.text), beside.number("max_steps")
    return float(counted[2]) if counted else (whole and whole.number) or 0.0


RULES_OF_SETTINGS = (scheduler_of_each_process, climbs_back, peaks_too_early)
