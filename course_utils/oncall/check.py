"""Judges a fixed folder: trains it on other seeds, measures the result, reads the report.

It says what is still wrong, and never where; asking again costs nothing.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.errors import GraderFailed
from course_utils.oncall import budget, no_fault, planting, repairs, report, spread, templates
from course_utils.oncall import folder as folders
from course_utils.oncall.declare import Case, Files, Verdict
from course_utils.shown.wrap import wrapped

if TYPE_CHECKING:  # it imports torch, and a folder in which nothing has changed needs none
    from course_utils.oncall.proving import Judge

NUM_SEEDS = 2
MOST_SEEDS = 8  # tried until that many are fair
UNCHANGED = "the files are as they were handed out"
TRAINING = "training the fixed run, seed {} of {}, some ten seconds if not busy"
NOT_YET = "it is judged once the run is healthy"


@dataclass(frozen=True)
class Outcome:
    """The result of a check.

    Attributes:
        problems: of the fixed run; empty when it is healthy on every seed.
        measured: what was measured on each seed that was trained.
        reported: how much of the case the report names.
    """

    case: Case
    problems: tuple[str, ...]
    measured: tuple[dict[str, float], ...]
    reported: report.Judged

    @property
    def is_fixed(self) -> bool:
        return not self.problems

    @property
    def is_solved(self) -> bool:
        return self.is_fixed and self.reported.is_right

    def to_dict(self) -> dict:
        return {
            "fixed": self.is_fixed,
            "places": self.reported.places,
            "classes": self.reported.classes,
            "faults": self.reported.num_faults,
            "solved": self.is_solved,
            "problems": list(self.problems),
        }


def check(
    folder: Path,
    ticket: folders.Ticket,
    judge: Callable[[], "Judge"],
    *,
    say: Callable[[str], object] = bool,
    report_alone: bool = False,
) -> Outcome:
    """Judge a folder as a fixed ticket; for the arguments see `judged`."""
    handed = folders.handed_out(ticket)[1]
    fixed = budget.closed_files(folder, handed) | folders.run_files(folder, handed)
    text = folders.text_files(folder, [report.NAME]).get(report.NAME)
    return judged(ticket, fixed, text, judge, say=say, report_alone=report_alone)


def judged(
    ticket: folders.Ticket,
    fixed: Files,
    text: str | None,
    judge: Callable[[], "Judge"],
    *,
    say: Callable[[str], object] = bool,
    report_alone: bool = False,
) -> Outcome:
    """Judge fixed files and a report.

    Args:
        text: of report.yaml, where there is one.
        judge: makes what trains, once something is to be trained.
        say: is told how far it is.
        report_alone: judge a report without a fix, too: where a taker has one attempt, no answer
            can be guessed with it.
    """
    case = folders.case_of(ticket)
    if not case.faults:
        return Outcome(case, no_fault.problems(ticket, fixed), (), no_fault.reported(text))
    verdicts = verdicts_on(ticket, fixed, judge, say)
    last = verdicts[-1]
    reported = reported_on(ticket, fixed, text, lambda: last.is_healthy, report_alone=report_alone)
    if not report_alone:
        reported = once_fixed(reported, last.is_healthy)
    measured = tuple(one.measured for one in verdicts)
    return Outcome(case, last.problems, measured, reported)


def once_fixed(reported: report.Judged, is_fixed: bool) -> report.Judged:
    """What is told of a report: before the run is fixed its form alone, so that nobody guesses."""
    if is_fixed or reported.problem:
        return reported
    return report.Judged(reported.num_faults, problem=NOT_YET)


def reported_on(
    ticket: folders.Ticket,
    mended: Files,
    text: str | None,
    is_fixed: Callable[[], bool],
    *,
    report_alone: bool = False,
) -> report.Judged:
    """How much of the case a report names; a place may be where a fault was fixed elsewhere.

    Args:
        text: of report.yaml, where there is one.
        is_fixed: whether the files train to a healthy run; asked only where it matters.
    """
    case, (healthy, handed) = folders.case_of(ticket), folders.handed_out(ticket)
    mended = repairs.settled(healthy, handed, mended)
    if mended == handed and not report_alone:
        return report.Judged(len(case.faults), problem=NOT_YET)
    planted = folders.drawn(ticket).places
    judged = report.judge(case, planted, text)
    elsewhere = planting.fixed_elsewhere(planted, healthy, handed, mended)
    again = report.judge(case, elsewhere, text)
    return again if again.places > judged.places and is_fixed() else judged


def seeds_of(ticket: folders.Ticket) -> Iterator[int]:
    """The seeds of the check, in their order, without end: none is that of config.yaml."""
    for number in count():
        said = f"{ticket.seed} check {number}"
        yield int(hashlib.sha256(said.encode()).hexdigest()[:6], 16)


def verdicts_on(
    ticket: folders.Ticket,
    mended: Files,
    judge: Callable[[], "Judge"],
    say: Callable[[str], object] = bool,
) -> list[Verdict]:
    """One verdict per seed, until as many as are asked are healthy, or are not.

    One that is not healthy is enough where no healthy run was ever so bad. A seed is left out when
    the files as they were before the fault are refused on it as well. Weights that are healthy are
    held against those that the files without the fault train, on a seed on which those are healthy.

    Raises:
        GraderFailed: these are refused on nearly every seed.
    """
    case, (healthy, handed) = folders.case_of(ticket), folders.handed_out(ticket)
    mended = repairs.settled(healthy, handed, mended)
    if mended == handed:
        return [Verdict((UNCHANGED,), {})]

    def verdict(files: Files, seed: int) -> Verdict:
        return judge().verdict(case, files, seed=seed, healthy=healthy, handed=handed)

    verdicts: dict[int, Verdict] = {}
    for seed in islice(seeds_of(ticket), MOST_SEEDS):
        say(TRAINING.format(len(verdicts) + 1, NUM_SEEDS))
        found = verdict(mended, seed)
        if found.problems and found.measured and not verdict(healthy, seed).is_healthy:
            continue
        verdicts[seed] = found
        alike = [at for at, one in verdicts.items() if one.is_healthy == found.is_healthy]
        if not found.is_healthy and not found.may_be_chance:
            return list(verdicts.values())
        if len(alike) == NUM_SEEDS:
            fair = (at for at in reversed(alike) if verdict(healthy, at).is_healthy)
            if found.is_healthy and (held := next(fair, None)) is not None:
                told = judge().strays(case, mended, seed=held, healthy=healthy)
                verdicts[seed] = replace(found, problems=(told,)) if told else found
            return list(verdicts.values())
    raise GraderFailed(
        "this ticket cannot be judged on this machine",
        why=f"the run without its fault is not healthy here on {MOST_SEEDS} seeds",
        fix="draw another ticket with `course oncall new`",
    )


def told(outcome: Outcome) -> str:
    """The message for the reader; it names causes only once everything is right."""
    lines = []
    if outcome.is_fixed:
        unlucky = len(outcome.measured) - NUM_SEEDS
        one_was_not = ", and not on one" if unlucky > 0 else ""
        lines.append(f"run: healthy on {NUM_SEEDS} seeds that it had not seen{one_was_not}")
    else:
        lines.append("run: not healthy yet")
        lines += [f"  {problem}" for problem in outcome.problems]
    lines += _reached(outcome)
    lines.append(report.message(outcome.reported))
    if outcome.is_solved:
        lines.append("solved")
        for fault in outcome.case.faults:
            kinds = " or ".join((fault.kind, *fault.also_kinds))
            lines += [f"  {kinds}: {fault.cause}", f"    {fault.fix} ({_threads(fault)})"]
    else:
        lines.append("not solved yet")
    return "\n".join(wrapped(line, hang="  ") for line in lines)


def _reached(outcome: Outcome) -> list[str]:
    """The measured values on each seed, beside the worst that counts as healthy."""
    if not any(outcome.measured):
        return []
    template = templates.load(outcome.case.template)
    healthy, lines = spread.load(template), []
    for name, of in template.metrics.items():
        values = ", ".join(f"{one[name]:.3g}" for one in outcome.measured if one)
        lines.append(f"  {of.says}: {values} (healthy: {spread.in_words(template, healthy, name)})")
    one_told = outcome.problems and len(outcome.measured) == 1
    seeds = "all of it, on the one seed that was enough to tell" if one_told else "seed by seed"
    return [f"  measured, {seeds}:", *lines]


def _threads(fault) -> str:
    return ", ".join(fault.threads)
