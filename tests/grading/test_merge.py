"""The graded notebook: the student's answers and added cells inside the lesson's own."""

import pytest
from fake_course import FIXTURES, answer, cell_of, edit

from course_utils.grading.merge import merge
from course_utils.grading.repair import repaired
from course_utils.grading.submission import read_submission
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.lesson_source import load_source

lessons_90_and_91, unbuilt, course = FIXTURES

RIGHT = "def double(x):\n    return x + x"


@pytest.fixture
def path(course):
    return course.student_path("90_fake")


def merged(course, path):
    source = load_source(course.source_path("90_fake"))
    return merge(source, repaired(source, read_submission(path)))


def sources(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_a_deleted_answer_cell_costs_only_its_own_points(course, path):
    def change(notebook):
        notebook.cells.remove(cell_of(notebook, "answer", "90.1"))
        notebook.cells.remove(cell_of(notebook, "check", "90.2"))

    edit(path, change)
    result = merged(course, path)
    assert result.missing == ("90.1",)
    assert result.notes == ("there is no answer cell of exercise 90.1",)
    assert cell_of(result.notebook, "check", "90.2").source == "ex.LIMIT.check(limit)"


def test_a_copied_answer_cell_runs_where_the_student_put_it(course, path):
    def change(notebook):
        position = notebook.cells.index(cell_of(notebook, "answer", "90.1"))
        copied = notebook.cells[position].copy()
        copied.id, copied.source = "copied", RIGHT
        notebook.cells.insert(position + 1, copied)

    edit(path, change)
    notebook = merged(course, path).notebook
    position = notebook.cells.index(cell_of(notebook, "answer", "90.1"))
    assert notebook.cells[position + 1].source == RIGHT
    assert course_metadata(notebook.cells[position + 1]) == {}


def test_a_notebook_of_an_older_version_is_graded_by_its_answers(course, path):
    edit(path, lambda notebook: answer(notebook, "90.1", RIGHT))
    source = course.source_path("90_fake")
    source.write_text(
        source.read_text().replace("Twice", "Two times").replace('"seed"', '"the seed"')
    )
    result = merged(course, path)
    assert result.notes == (
        "the notebook was made from another version of the lesson than this one",
    )
    assert cell_of(result.notebook, "answer", "90.1").source == RIGHT
    assert 'print("seed", SEED)' not in sources(result.notebook)  # the old lesson's own cell
