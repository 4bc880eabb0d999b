"""Finds what is wrong with a lesson's generated notebooks. Executes nothing."""

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from course_utils.checks.declare import PARTS
from course_utils.errors import CourseError
from course_utils.files.repository import Repository
from course_utils.notebook.derive import (
    course_metadata,
    identity,
    is_same_lesson,
    is_untouched,
    solved_notebook,
    student_notebook,
)
from course_utils.notebook.files import read_notebook
from course_utils.notebook.lesson_source import (
    ANSWER,
    CHECK,
    SOLUTION,
    STUDENTS,
    LessonSource,
    load_source,
)
from course_utils.notebook.regions import split_regions

MIN_LEAK = 12  # characters; shorter lines, such as "else:", occur everywhere
REBUILD = "run `course build`"


def findings(repository: Repository, stem: str) -> list[str]:
    """One sentence for each thing that is wrong with a lesson; empty if nothing is."""
    try:
        source = load_source(repository.source_path(stem))
        student = read_notebook(repository.student_path(stem))
        solved = read_notebook(repository.solved_path(stem))
    except CourseError as error:
        return [f"{error.saw} ({error.why}): {error.fix}"]
    in_student = (f"notebooks/{stem}.ipynb {saw}" for saw in _student_findings(source, student))
    in_solved = (f"solutions/{stem}.ipynb {saw}" for saw in _solved_findings(source, solved))
    return [*source_findings(source), *in_student, *in_solved]


def is_in_work(repository: Repository, stem: str) -> bool:
    """Whether the student's copy holds a student's work."""
    return not is_untouched(read_notebook(repository.student_path(stem)))


def source_findings(source: LessonSource) -> Iterator[str]:
    """Exercises of which the lesson lacks a part, or all."""
    if not source.lesson.exercises:
        yield f"{source.stem} has no exercise"
    for exercise in source.lesson.exercises:
        answers = len(source.cells_for(exercise.id, ANSWER))
        if answers != 1:
            yield (
                f"{source.stem} has {answers} cells with a region that defines {exercise.reads!r}, "
                f"and exercise {exercise.id} needs one"
            )
        if not source.cells_for(exercise.id, CHECK):
            yield f"{source.stem} has no cell with ex.{exercise.name}.check(...)"
    yield from _misplaced(source)


def _misplaced(source: LessonSource) -> Iterator[str]:
    """Exercises that stand below a heading of a deeper look and are declared core, or otherwise."""
    heading = ""
    for cell in source.cells:
        if cell.kind == "markdown":
            heading = next(iter(re.findall(r"^## (.*)", cell.written, re.MULTILINE)), heading)
        elif cell.role == CHECK:
            stands_in = PARTS["Deeper look" in heading]
            if (declared := source.lesson.part(cell.exercise)) != stands_in:
                yield (
                    f"exercise {cell.exercise} stands in section {heading!r}, part of the "
                    f"{stands_in}, and {source.stem} declares it as {declared}"
                )


def _student_findings(source: LessonSource, student: NotebookNode) -> Iterator[str]:
    wanted = student_notebook(source)
    for line in _leaks(source, wanted, student):
        yield f"shows a line of the solution: {line!r}"
    if is_untouched(student):
        if not is_same_lesson(student, wanted):
            yield f"is stale: {REBUILD}"
        return
    found = {identity(cell) for cell in student.cells}
    owned = [cell for cell in wanted.cells if course_metadata(cell)["role"] not in STUDENTS]
    missing = [cell for cell in owned if identity(cell) not in found]
    if missing:
        yield (
            f"is in work, and {len(missing)} of the lesson's own cells are changed or missing: "
            f"run `course reset {source.lesson.number}`, which keeps a copy"
        )


def _leaks(source: LessonSource, wanted: NotebookNode, student: NotebookNode) -> list[str]:
    public = _lines(wanted)
    secret = [line.strip() for cell in source.cells for line in _secret_lines(cell)]
    suspects = [line for line in dict.fromkeys(secret) if len(line) >= MIN_LEAK]
    shown = _lines(student)
    # Text may mention a call that a solution makes; code and comments may not.
    code = "\n".join(cell.source for cell in student.cells if cell.cell_type == "code")
    return [line for line in suspects if line not in public and (line in shown or line in code)]


def _lines(notebook: NotebookNode) -> set[str]:
    return {line.strip() for cell in notebook.cells for line in cell.source.splitlines()}


def _secret_lines(cell) -> list[str]:
    if cell.role == SOLUTION:
        return cell.written.splitlines()
    groups = split_regions(cell.written, cell.where)
    return [line for inside, lines in groups if inside for line in lines]


def _solved_findings(source: LessonSource, solved: NotebookNode) -> Iterator[str]:
    if not is_same_lesson(solved, solved_notebook(source)):
        yield f"is stale: {REBUILD}"
    code = [cell for cell in solved.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)):
        yield f"was not executed from top to bottom in a fresh kernel: {REBUILD}"
    for number, cell in enumerate(code, start=1):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"holds an error in [{number}]: {output.ename}: {output.evalue[:100]}"
            elif output.get("name") == "stderr":
                yield f"holds stderr output in [{number}]: {output.text.strip()[:100]!r}"
