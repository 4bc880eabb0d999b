"""The graded notebook: the student's answers and added cells inside the lesson's own."""

import pytest
from fake_course import FIXTURES, answer, cell_of, edit

from course_utils.grading.handout import load_handout
from course_utils.grading.merge import merge
from course_utils.grading.repair import repaired
from course_utils.grading.submission import read_submission

lessons_90_and_91, unbuilt, course = FIXTURES

RIGHT = "def double(x):\n    return x + x"


@pytest.fixture
def path(course):
    return course.student_path("90_fake")


def merged(course, path):
    handout = load_handout(course.source_path("90_fake"))
    return merge(handout, repaired(handout, read_submission(path)))


def place_of(role, exercise, cells) -> int:
    [place] = [n for n, c in enumerate(cells) if (c.role, c.exercise) == (role, exercise)]
    return place


def test_a_deleted_answer_cell_costs_only_its_own_points(course, path):
    def change(notebook):
        notebook.cells.remove(cell_of(notebook, "answer", "90.1"))
        notebook.cells.remove(cell_of(notebook, "check", "90.2"))

    edit(path, change)
    result = merged(course, path)
    assert result.missing == ("90.1",)
    assert result.notes == ("there is no answer cell of exercise 90.1",)
    assert result.cells[place_of("check", "90.2", result.cells)].source == "ex.LIMIT.check(limit)"


def test_a_copied_answer_cell_runs_where_the_student_put_it(course, path):
    def change(notebook):
        position = notebook.cells.index(cell_of(notebook, "answer", "90.1"))
        copied = notebook.cells[position].copy()
        copied.id, copied.source = "copied", RIGHT
        notebook.cells.insert(position + 1, copied)

    edit(path, change)
    cells = merged(course, path).cells
    added = cells[place_of("answer", "90.1", cells) + 1]
    assert (added.source, added.role, added.exercise, added.id) == (RIGHT, "", "", "")


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
    assert result.cells[place_of("answer", "90.1", result.cells)].source == RIGHT
    sources = [cell.source for cell in result.cells if cell.kind == "code"]
    assert 'print("seed", SEED)' not in sources  # the old lesson's own cell


def test_the_cells_of_a_lesson_are_made_again_only_when_it_changed(course):
    source = course.source_path("90_fake")
    first = load_handout(source)
    assert load_handout(source) is first
    source.write_text(source.read_text().replace("Twice", "Two times"))
    assert load_handout(source).source.version != first.source.version
