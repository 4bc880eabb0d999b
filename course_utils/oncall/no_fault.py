"""Tickets whose run is healthy: the right answer is to change nothing, and to say so.

A change of one of the run's files is a false fix, whatever it does. What leaves them alone is none:
scripts of one's own beside them, and what a training leaves in run/.
"""

from pathlib import Path
from textwrap import fill

from course_utils.files.saving import save
from course_utils.oncall import folder as folders
from course_utils.oncall import report
from course_utils.oncall.declare import Files
from course_utils.shown.wrap import WIDTH

NUM_FAULTS = {1: 1, 2: 1, 3: 3}  # of a broken run of each level, and of the form of a healthy one
NOT_SAID = "it does not say that nothing is wrong"
OFFER = (
    "Some of these runs are healthy, and only look odd. If this one is, change none of its files "
    "and write `faults: none` into `report.yaml`. To change a healthy run counts against you."
)


def offer(folder: Path, ticket: folders.Ticket) -> None:
    """Say in the letter and in the form of a ticket that nothing may be wrong."""
    letter = (folder / folders.TICKET).read_text(encoding="utf-8")
    said = f"\n## Or nothing\n\n{fill(OFFER, WIDTH)}\n"
    save(folder / folders.TICKET, letter + said)
    save(folder / report.NAME, report.form(NUM_FAULTS[ticket.level], or_none=True))


def problems(ticket: folders.Ticket, now: Files) -> tuple[str, ...]:
    """What a taker has done to a healthy run."""
    handed = folders.handed_out(ticket)[1]
    changed = ", ".join(name for name, text in handed.items() if now.get(name) != text)
    return (f"the run was healthy, and {changed} was changed",) if changed else ()


def reported(text: str | None) -> report.Judged:
    """Whether a report says that nothing is wrong."""
    return report.Judged(0, problem="" if report.says_none(text) else NOT_SAID)
