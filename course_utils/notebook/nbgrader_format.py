"""A lesson in nbgrader's format: the input of `nbgrader generate_assignment`. Executes nothing.

The markers of solutions are nbgrader's own. A check gets one more line, hidden from students,
which raises when the exercise is not passed: nbgrader gives a cell its points when it runs through.
"""

from nbformat import NotebookNode, v4

from course_utils.notebook.derive import NEW_CELL
from course_utils.notebook.lesson_source import ANSWER, CHECK, LESSON, SOLUTION, Cell, LessonSource
from course_utils.notebook.warm import KERNEL

# What a student did is never handed out, and an empty progress file is what grading starts with.
CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "post_training"
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", ".progress*"]
c.ExecutePreprocessor.timeout = 300  # seconds that a cell may take
"""
SCHEMA = 3  # of nbgrader's metadata, since 0.6
HIDDEN_TEST = """\
{check}
### BEGIN HIDDEN TESTS
start("{number}", strict=True).{name}.check({reads})  # raises when it is not passed
### END HIDDEN TESTS"""


def nbgrader_notebook(source: LessonSource) -> NotebookNode:
    """The instructor's version of a lesson: answers solved between markers, checks with points.

    Answer cells are nbgrader's manually written solutions, check cells its autograder tests; the
    lesson's other code is locked, so that grading puts back what was changed. Predictions stay
    the student's own and have no points.
    """
    metadata = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    cells = [_node(cell, source) for cell in source.cells if cell.role != SOLUTION]
    return v4.new_notebook(metadata=metadata, cells=cells)


def _node(cell: Cell, source: LessonSource) -> NotebookNode:
    node = NEW_CELL[cell.kind](cell.stub, id=cell.id)
    if cell.tags:
        node.metadata.tags = list(cell.tags)
    if cell.role == ANSWER:
        node.source = f"# Exercise {cell.exercise}: your answer\n{cell.written}"
        node.metadata.nbgrader = _metadata(cell, solution=True)
    elif cell.role == CHECK:
        [exercise] = [e for e in source.lesson.exercises if e.id == cell.exercise]
        number = source.lesson.number
        of = {"number": number, "name": exercise.name, "reads": exercise.reads}
        node.source = HIDDEN_TEST.format(check=cell.written, **of)
        node.metadata.nbgrader = _metadata(cell, grade=True, locked=True)
        node.metadata.nbgrader.points = exercise.points
    elif cell.role == LESSON and cell.kind == "code":
        node.metadata.nbgrader = _metadata(cell, locked=True)
    return node


def _metadata(cell: Cell, *, solution=False, grade=False, locked=False) -> NotebookNode:
    exercise = cell.exercise.replace(".", "-")
    kinds = {"solution": solution, "grade": grade, "locked": locked, "task": False}
    grade_id = f"{cell.role}-{exercise or cell.id}"
    return NotebookNode({"schema_version": SCHEMA, "grade_id": grade_id, **kinds})
