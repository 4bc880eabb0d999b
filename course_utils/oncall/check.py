"""Judges a fixed folder: trains it on other seeds, measures the result, reads the report.

It says what is still wrong, and never where; asking again costs nothing.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.oncall import folder as folders
from course_utils.oncall import planting, report, spread, templates
from course_utils.oncall.declare import Case, Files, Verdict
from course_utils.shown.wrap import wrapped

if TYPE_CHECKING:  # it imports torch, and a folder in which nothing has changed needs none
    from course_utils.oncall.proving import Judge

NUM_SEEDS = 2
UNCHANGED = "the files are as they were handed out"


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
) -> Outcome:
    """Judge a folder as a fixed ticket.

    Args:
        judge: makes what trains, once something is to be trained.
        say: is told how far it is.
    """
    case, (healthy, handed) = folders.case_of(ticket), folders.handed_out(ticket)
    mended = folders.text_files(folder, list(handed))
    text = folders.text_files(folder, [report.NAME]).get(report.NAME)
    reported = report.judge(case, planting.places(case, healthy), text)
    verdicts = verdicts_on(ticket, mended, judge, say)
    problems = verdicts[-1].problems
    return Outcome(case, problems, tuple(one.measured for one in verdicts), reported)


def seeds_of(ticket: folders.Ticket) -> list[int]:
    """The seeds of the check: none is that of config.yaml."""
    return [
        int(hashlib.sha256(f"{ticket.seed} check {number}".encode()).hexdigest()[:6], 16)
        for number in range(NUM_SEEDS)
    ]


def verdicts_on(
    ticket: folders.Ticket,
    mended: Files,
    judge: Callable[[], "Judge"],
    say: Callable[[str], object] = bool,
) -> list[Verdict]:
    """One verdict per seed, up to the first that is not healthy."""
    case, (_, handed) = folders.case_of(ticket), folders.handed_out(ticket)
    if mended == handed:
        return [Verdict((UNCHANGED,), {})]
    verdicts = []
    for number, seed in enumerate(seeds_of(ticket), start=1):
        say(f"training the mended run, seed {number} of {NUM_SEEDS}, some ten seconds if not busy")
        data_seed = folders.data_seed(ticket)
        verdicts.append(judge().verdict(case, mended, seed=seed, data_seed=data_seed))
        if not verdicts[-1].is_healthy:
            break
    return verdicts


def told(outcome: Outcome) -> str:
    """The message for the reader; it names causes only once everything is right."""
    lines = []
    if outcome.is_fixed:
        lines.append(f"run: healthy on {NUM_SEEDS} seeds that it had not seen")
        lines += _reached(outcome)
    else:
        lines.append("run: not yet what a healthy run is")
        lines += [f"  {problem}" for problem in outcome.problems]
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
    template = templates.load(outcome.case.template)
    healthy, lines = spread.load(template), []
    for name, of in template.metrics.items():
        values = ", ".join(f"{measured[name]:.3g}" for measured in outcome.measured)
        lines.append(f"  {of.says}: {values} (healthy: {spread.in_words(template, healthy, name)})")
    return lines


def _threads(fault) -> str:
    return ", ".join(fault.threads)
