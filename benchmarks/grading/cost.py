"""The cost of one student's submission in the box: CPU time and memory, lesson by lesson.

CPU time, because it is the same on a loaded machine. The start of the two warm processes is told
apart: a class pays for it once a lesson.
"""

from collections.abc import Iterable

import psutil

from course_utils.box.kind import find_kind
from course_utils.checks.declare import Lesson
from course_utils.files.repository import find_repository
from course_utils.grading import one_submission
from course_utils.grading.handout import load_handout
from course_utils.grading.judge.client import Box
from course_utils.grading.merge import merge
from course_utils.grading.repair import repaired
from course_utils.grading.submission import read_submission
from course_utils.notebook.execute import Limits
from course_utils.shown.report import Table

MIB = 2**20
LIMITS = Limits(cell_s=120.0, notebook_s=900.0)
COLUMNS = ("lesson", "start", "a submission", "warm processes", "passed")


def grading_cost(lessons: Iterable[Lesson]) -> Table:
    """Seconds of CPU for the start and for the solved lesson, and MiB of the warm processes."""
    rows = [_row(lesson) for lesson in lessons]
    total = sum(float(row[2].split()[0]) for row in rows)
    notes = (f"one student's lessons: {total:.1f} s of CPU", find_kind().saw)
    return Table(columns=COLUMNS, rows=rows, title="Grading in a box", notes=notes)


def _row(lesson: Lesson) -> tuple[str, ...]:
    cells, wanted = _cells(lesson), [exercise.id for exercise in lesson.exercises]
    reads = {exercise.name: exercise.reads for exercise in lesson.exercises}
    before = _cpu_s()
    with Box(lesson.number, reads, find_kind()) as box:
        list(box.scores([], [], LIMITS))  # waits until both are warm
        box.wait()
        warm = _cpu_s()
        outcomes = [score["outcome"] for score in box.scores(cells, wanted, LIMITS)]
        done, memory = _cpu_s(), _memory_mib()
    return (
        lesson.number,
        f"{warm - before:.1f} s",
        f"{done - warm:.2f} s",
        f"{memory:.0f} MiB",
        f"{outcomes.count('passed')} of {len(wanted)}",
    )


def _cells(lesson: Lesson) -> list[dict]:
    """The graded cells of the solved notebook, as `course grade` assembles them."""
    repository = find_repository()
    handout = load_handout(repository.source_path(lesson.stem))
    submission = read_submission(repository.solved_path(lesson.stem))
    return one_submission.code_cells(merge(handout, repaired(handout, submission)))


def _tree() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _cpu_s() -> float:
    """Of everything that this process started and that is still there, and of what those ended."""
    return sum(sum(process.cpu_times()[:4]) for process in _tree())


def _memory_mib() -> float:
    return sum(process.memory_full_info().pss for process in _tree()) / MIB
