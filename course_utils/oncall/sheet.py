"""The score sheet of the exam, and which classes of failure have been solved. Changes nothing."""

from pathlib import Path

from course_utils.causes.kinds import CLASSES
from course_utils.checks.watched_calls import holds_todo
from course_utils.files.progress import Progress, default_path
from course_utils.oncall import diary, exam, hand_in
from course_utils.oncall import folder as folders
from course_utils.oncall.answer_form import form_of
from course_utils.oncall.choosing import DRAWN
from course_utils.oncall.declare import Case
from course_utils.shown.report import Table

EXERCISES = {"first": "99.1", "second": "99.2", "third": "99.3"}
COLUMNS = ("ticket", "level", "places", "classes", "run", "minutes", "hints")


def sheet(answers: dict[str, object], parent: Path = exam.PARENT) -> Table:
    """One row for each ticket of the exam.

    Minutes are those from opening the folder to the first `course oncall check` in it that found
    all solved; hints are those of both kinds.
    """
    progress = Progress(default_path())
    return Table(columns=COLUMNS, rows=[_row(*item, parent, progress) for item in answers.items()])


def _row(name: str, answer: object, parent: Path, progress: Progress) -> tuple[str, ...]:
    case = exam.TASKS[name].declared
    noted = diary.Diary(parent / name / diary.NAME).read()
    solved = [check["minutes"] for check in noted["checks"] if check["solved"]]
    hints = noted["hints"] + progress.exercise(EXERCISES[name])["hints"]
    return (
        name,
        str(case.level),
        *_reached(name, answer, len(case.faults)),
        f"{solved[0]:.0f}" if solved else "-",
        str(hints),
    )


def _reached(name: str, answer: object, num_faults: int) -> tuple[str, str, str]:
    if holds_todo(answer) or not isinstance(answer, dict) or form_of(num_faults)(answer):
        return "-", "-", "not attempted"
    tried = hand_in.tried(name, answer)
    judged, of = tried.reported, f"of {num_faults}"
    run = "healthy" if tried.is_healthy else "not healthy"
    return f"{judged.places} {of}", f"{judged.classes} {of}", run


def practised() -> Table:
    """The classes of the tickets that have been solved: the exam's, and those drawn."""
    solved = {fault.kind for case in _solved(Progress(default_path())) for fault in case.faults}
    kinds = {
        "solved": [kind for kind in CLASSES if kind in solved],
        "not yet": [kind for kind in CLASSES if kind not in solved],
    }
    rows = [(said, str(len(of)), ", ".join(of) or "-") for said, of in kinds.items()]
    return Table(columns=("state", "classes", "which"), rows=rows)


def _solved(progress: Progress) -> list[Case]:
    found = []
    ours = {number: exam.TASKS[name].declared for name, number in EXERCISES.items()}
    seeds = {task.seed: task.declared for task in exam.TASKS.values()}
    for name, entry in progress.read()["exercises"].items():
        if entry.get("outcome") != "passed":
            continue
        if name in ours:
            found.append(ours[name])
        elif drawn := DRAWN.fullmatch(name):
            level, seed = map(int, drawn.groups())
            is_level = level in folders.LEVELS
            found += [seeds.get(seed) or folders.draw(seed, level)] if is_level else []
    return found
