"""A certificate of solved tickets that anybody can check again, without a server or a secret.

It keeps what was drawn, the files that were changed, the report, and what the judge measured on
which seeds. Whoever has it draws the same tickets and trains the same files. It proves that these
files solve these tickets, and not who wrote them.
"""

import datetime
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils import __version__
from course_utils.errors import BadRequest
from course_utils.files.saving import save
from course_utils.oncall import check as checks
from course_utils.oncall import folder as folders
from course_utils.oncall import report
from course_utils.oncall.declare import Files

if TYPE_CHECKING:  # it imports torch
    from course_utils.oncall.proving import Judge

FORM = "course-oncall-certificate/1"
MAX_BYTES = 2**25


@dataclass(frozen=True)
class Entry:
    """One ticket of a certificate.

    Attributes:
        files: the text of each file that was changed, by path.
        report: the text of report.yaml.
        measured: one dict of metrics per seed of the judge, in the order of the seeds.
    """

    seed: int
    level: int
    mark: str
    files: Files
    report: str
    measured: list[dict[str, float]]
    version: int = folders.AS_THEY_ARE
    handed: str = ""  # a digest of the files that were handed out

    @property
    def ticket(self) -> folders.Ticket:
        return folders.Ticket(
            self.seed, self.level, self.mark, version=self.version, handed=self.handed
        )

    @property
    def name(self) -> str:
        return f"seed {self.seed}, level {self.level}"


def entry_of(folder: Path, outcome: checks.Outcome) -> Entry:
    """The entry for a folder whose check had this outcome.

    Raises:
        BadRequest: the check was not solved.
    """
    ticket = folders.read(folder)
    if not outcome.is_solved:
        raise BadRequest(
            f"{folder} is not solved",
            why="a certificate holds only tickets of which the run is fixed and the report right",
            fix=f"see what `course oncall check {folder}` says",
        )
    handed = folders.handed_out(ticket)[1]
    said = folders.text_files(folder, [report.NAME]).get(report.NAME, "")
    now = folders.run_files(folder, handed)
    files = {name: text for name, text in now.items() if text != handed.get(name)}
    return Entry(
        ticket.seed,
        ticket.level,
        ticket.mark,
        files,
        said,
        list(outcome.measured),
        version=ticket.version,
        handed=folders.digest(handed),
    )


def write(path: Path, entries: list[Entry]) -> str:
    """Write a certificate of these entries; returns its digest.

    Raises:
        NotSaved: it cannot be written there.
    """
    data = {
        "form": FORM,
        "course": __version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "tickets": [vars(entry) for entry in entries],
    }
    data["digest"] = _digest(data)
    save(path, json.dumps(data, indent=1) + "\n")
    return data["digest"]


def read(path: Path) -> tuple[str, list[Entry]]:
    """The digest and the entries of a certificate.

    Raises:
        BadRequest: the file is no certificate, or was changed since it was written.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["form"] != FORM or data["digest"] != _digest(data):
            raise ValueError
        return data["digest"], [_entry(one) for one in data["tickets"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadRequest(
            f"{path} is no certificate of this form, or was changed",
            why="its digest is the SHA-256 of all that stands in it",
            fix="ask for the file as `course oncall certificate` wrote it",
        ) from error


def _entry(said: dict) -> Entry:
    entry = Entry(**said)
    of_text = [entry.mark, entry.report, *entry.files, *entry.files.values()]
    if type(entry.seed) is not int or entry.level not in folders.LEVELS:
        raise ValueError
    if not all(isinstance(text, str) for text in of_text):
        raise ValueError
    return entry


def _digest(data: dict) -> str:
    kept = {key: value for key, value in data.items() if key != "digest"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def judged_again(
    entries: list[Entry], judge: Callable[[], "Judge"], say: Callable[[str], object] = bool
) -> Iterator[tuple[Entry, checks.Outcome]]:
    """Each entry with the outcome of its files here; its own numbers are not believed.

    Raises:
        BadRequest: a ticket is of another version of the course.
    """
    for entry in entries:
        handed = folders.handed_out(entry.ticket)[1]
        fixed = handed | entry.files  # with modules that were added; the judge refuses other files
        yield entry, checks.judged(entry.ticket, fixed, entry.report, judge, say=say)
