"""Opens a ticket's folder, checks it, and gives hints: for the command and for notebooks.

Trains in separate processes; none is left behind.
"""

import contextlib
import datetime
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.errors import BadRequest
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.files.repository import find_repository
from course_utils.oncall import budget, certificate, choosing, diary, report
from course_utils.oncall import check as checks
from course_utils.oncall import folder as folders
from course_utils.oncall.training import Trainers

if TYPE_CHECKING:  # it imports torch, and a folder in which nothing has changed needs none
    from course_utils.oncall.proving import Judge


def open_ticket(
    folder: Path, *, seed: int, level: int, num_looks: int | None = None
) -> folders.Ticket:
    """Draw a ticket and write its folder; its run is trained once, so that there is a log.

    Args:
        num_looks: the budget; None where looks are free.

    Raises:
        BadRequest: the folder holds something already, or there is no such level.
        NotSaved: it cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BadRequest(
            f"{folder} is there already",
            why="what you have changed in it would be lost",
            fix="name another folder, or another seed",
        )
    with Trainers() as trainers:  # its process imports while the ticket is drawn
        ticket = folders.ticket_of(seed, level)
        folders.write(folder, ticket, trainers)
    if num_looks:
        budget.close(folder, num_looks)
    if progress := _progress():
        choosing.note_use(progress, ticket)
    return ticket


def new_seed(*, level: int, lesson: str | None = None, kind: str | None = None) -> int:
    """The seed of a ticket that this reader has not had, until all of its kind have been used.

    Raises:
        BadRequest: there is no such lesson or class, or no ticket of it at this level.
    """
    return choosing.new_seed(_progress(), level=level, lesson=lesson, kind=kind)


def seed_of_week(day: datetime.date) -> int:
    """The seed of the ticket that everybody has in the week of this day.

    >>> monday, sunday = datetime.date(2026, 11, 16), datetime.date(2026, 11, 22)
    >>> seed_of_week(monday) == seed_of_week(sunday)
    True
    """
    year, week, _ = day.isocalendar()
    return int(hashlib.sha256(f"{year}-{week}".encode()).hexdigest()[:6], 16)


def check_ticket(folder: Path, *, say: Callable[[str], object] = bool) -> checks.Outcome:
    """Judge a fixed folder; note it in its diary and in the reader's progress.

    Args:
        say: is told how far it is.

    Raises:
        BadRequest: this is not a ticket, or is from another version of the course, or its report
            cannot be read, or too few looks are left for it; nothing is trained then.
    """
    ticket = folders.read(folder)
    _check_form(folder)
    due = budget.due_for_check(folder)
    with _judging() as judge:
        outcome = checks.check(folder, ticket, judge, say=say)
    if due:
        budget.pay(folder, *due)
    diary.Diary(folder / diary.NAME).note_check(ticket.opened_at, outcome.to_dict())
    if progress := _progress():
        said, points = "passed" if outcome.is_solved else "wrong", ticket.level
        name = f"oncall.{ticket.level}.{ticket.seed}"
        progress.record_check(name, outcome=said, points=points * outcome.is_solved)
    return outcome


def certify(of: list[Path], out: Path, *, say: Callable[[str], object] = bool) -> str:
    """Judge the tickets in these folders and write a certificate of them; returns its digest.

    Raises:
        BadRequest: one is no ticket, or is not solved, or the file is there already; nothing is
            written then.
        NotSaved: it cannot be written.
    """
    if out.exists():
        raise BadRequest(
            f"{out} is there already",
            why="an older certificate would be lost",
            fix="name another file with --out",
        )
    entries = []
    with _judging() as judge:
        for folder in of:
            outcome = checks.check(folder, folders.read(folder), judge, say=say)
            entries.append(certificate.entry_of(folder, outcome))
    return certificate.write(out, entries)


def verify(path: Path, *, say: Callable[[str], object] = bool) -> tuple[str, list[tuple]]:
    """The digest of a certificate, and each of its entries with the outcome of its files here.

    Raises:
        BadRequest: it is no certificate, was changed, or is of another version of the course.
    """
    digest, entries = certificate.read(path)
    with _judging() as judge:
        return digest, list(certificate.judged_again(entries, judge, say))


def _progress() -> Progress | None:
    """The reader's, or None where there is no course around."""
    with contextlib.suppress(BadRequest):
        return Progress(Path(os.environ.get(ENV_NAME) or find_repository().progress_path))
    return None


def _check_form(folder: Path) -> None:
    for name, text in folders.text_files(folder, [report.NAME]).items():
        try:
            report.read(text)
        except report.BadReport as bad:
            raise BadRequest(
                f"{name}: {bad}",
                why="nothing was trained, so that you need not wait for it twice",
                fix='mend its form; a sentence that holds ": " stands in quotes',
            ) from bad


def next_hint(folder: Path) -> str:
    """The next hint on the ticket in a folder; how many were taken is noted.

    Raises:
        BadRequest: this is not a ticket, or is from another version of the course.
    """
    ticket = folders.read(folder)
    known = diary.hints(folders.case_of(ticket), folders.drawn(ticket).places)
    kept = diary.Diary(folder / diary.NAME)
    if kept.read()["hints"] >= len(known):
        return "there are no more hints"
    number = kept.take_hint()
    return f"hint {number} of {len(known)}: {known[number - 1]}"


@contextlib.contextmanager
def _judging() -> Iterator[Callable[[], "Judge"]]:
    """Yields a function that makes the judge when needed, and ends everything it started."""
    with contextlib.ExitStack() as stack:
        made: list[Judge] = []

        def judge() -> "Judge":
            if not made:
                from course_utils.oncall.proving import Judge

                made.append(Judge(stack.enter_context(Trainers())))
            return made[0]

        yield judge
