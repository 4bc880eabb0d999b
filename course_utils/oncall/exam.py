"""The tickets of the exam: the same for everybody, so that an answer can be graded anywhere.

Writes their folders beside the notebook and runs them; judges nothing.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_utils.errors import BadRequest
from course_utils.oncall import cases
from course_utils.oncall import folder as folders
from course_utils.oncall.declare import Case, DoesNotFit, Edit, Files
from course_utils.oncall.shared_trainer import TRAINERS
from course_utils.oncall.training import Trained

Edits = Iterable[tuple[str, str, str]]  # file, old text, new text
PARENT = Path("oncall")


@dataclass(frozen=True)
class Task:
    """One ticket of the exam."""

    name: str
    case: str
    seed: int

    @property
    def ticket(self) -> folders.Ticket:
        case = self.declared  # as it is: an answer in a notebook is text of these very files
        return folders.ticket_of(self.seed, case.level, case, version=folders.AS_THEY_ARE)

    @property
    def declared(self) -> Case:
        return cases.load(self.case)


TASKS = {
    task.name: task
    for task in (
        Task("worked", "resumed_under_other_names", 8101),
        Task("first", "reads_behind_a_tag", 8102),
        Task("second", "pairs_as_plain_text", 8103),
        Task("third", "three_in_the_comparison", 8104),
    )
}


def open_folder(name: str, parent: Path = PARENT) -> Path:
    """The folder of a ticket of the exam; if it is missing, it is written after one run.

    Raises:
        BadRequest: something else is there.
        NotSaved: it cannot be written.
    """
    return _opened(parent / name, TASKS[name].ticket)


def practise(seed: int, level: int = 1, parent: Path = PARENT) -> Path:
    """The folder of the ticket that `course oncall new` draws with this seed."""
    return _opened(parent / f"{seed}-{level}", folders.ticket_of(seed, level))


def _opened(folder: Path, ticket: folders.Ticket) -> Path:
    if not folder.exists() or not any(folder.iterdir()):
        folders.write(folder, ticket, TRAINERS)
        return folder
    found = folders.read(folder)
    if (found.seed, found.mark) != (ticket.seed, ticket.mark):
        raise BadRequest(
            f"{folder} holds another ticket",
            why="nothing that is there is written over",
            fix="move that folder away, and run this cell again",
        )
    return folder


def handed_out(folder: Path) -> Files:
    """The files of a ticket's run in their original state."""
    return folders.handed_out(folders.read(folder))[1]


def files_of(folder: Path) -> Files:
    """The same files in their current state."""
    return folders.run_files(folder, handed_out(folder))


def run(folder: Path, edits: Edits = ()) -> Trained:
    """Run a copy of a ticket's folder with these edits; the folder stays as it is.

    Raises:
        BadRequest: an edit does not fit.
    """
    try:
        files = edited(files_of(folder), edits)
    except DoesNotFit as error:
        raise BadRequest(
            str(error),
            why="an edit replaces one piece of text",
            fix="take more of the lines around it",
        ) from error
    base = {path.name: path.read_bytes() for path in sorted((folder / "base").iterdir())}
    return TRAINERS.train(files, base, seed=folders.seed_in(handed_out(folder)))


def edited(files: Files, edits: Edits) -> Files:
    """The files after these edits, one after the other.

    Raises:
        DoesNotFit: an old text is not there exactly once.

    >>> edited({"train.py": "lr = 1"}, [("train.py", "1", "2")])
    {'train.py': 'lr = 2'}
    """
    for edit in edits:
        files = Edit(*edit).apply(files)
    return files


def log_of(folder: Path) -> list[dict]:
    """The log that the run of a folder left, one dict per entry."""
    return _entries((folder / "run" / "trainer_state.json").read_bytes())


def log_in(trained: Trained) -> list[dict]:
    """The log of a run that was made just now."""
    return _entries(trained.files.get("run/trainer_state.json", b"{}"))


def _entries(state: bytes) -> list[dict]:
    return json.loads(state).get("log_history", [])
