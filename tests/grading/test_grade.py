"""`course grade` counts the results of the lesson's own checks in the box, and nothing else."""

import json
import os
from xml.etree import ElementTree

import pytest
from fake_course import FAKE_GRADER, FIXTURES, answer, cell_of, cli, edit
from nbformat import v4

from course_utils.files.progress import Progress
from course_utils.grading import worker
from course_utils.notebook.files import read_notebook

lessons_90_and_91, unbuilt, course = FIXTURES

RIGHT = "def double(x):\n    return x + x"


@pytest.fixture
def path(course):
    return course.student_path("90_fake")


def test_solutions_get_full_marks_and_unsolved_notebooks_none(course, tmp_path):
    solved, unsolved = course.solved_path("90_fake"), course.student_path("90_fake")
    assert cli("grade", solved).exit_code == 0
    before = unsolved.read_bytes()
    result = cli("grade", unsolved, "--json", tmp_path / "grades" / "g.json")
    assert result.exit_code == 1 and "0 of 4 points" in result.stdout
    data = json.loads((tmp_path / "grades" / "g.json").read_text())
    [notebook] = data["notebooks"]
    assert [e["outcome"] for e in notebook["exercises"]] == ["not attempted", "not attempted"]
    assert unsolved.read_bytes() == before
    assert not course.progress_path.exists()


def test_forged_checks_progress_and_kernel_state_earn_nothing(course, path):
    def forge(notebook):
        answer(notebook, "90.1", "ex.DOUBLE.check(lambda x: 2 * x)")
        cell_of(notebook, "check", "90.1").source = "ex.DOUBLE.check(lambda x: 2 * x)"
        notebook.cells.append(cell_of(notebook, "check", "90.1").copy())
        notebook.cells[-1].id = "forged"
        notebook.cells = [c for c in notebook.cells if c.metadata.course != {"role": "lesson"}]
        del notebook.cells[-2]

    edit(path, forge)
    Progress(course.progress_path).record_check("90.1", outcome="passed", points=2)
    result = cli("grade", path)
    assert result.exit_code == 1 and "Total: 0 of 4 points" in result.stdout
    assert "its check cell: NameError: name 'double' is not defined" in result.stdout


FAKE_EX = """\
from IPython.display import display
class Fake:
    def check(self, answer):
        report = {"exercise": "90.2", "outcome": "passed", "unmet": [], "details": [], "secret": ""}
        display({"application/vnd.course.check+json": report}, raw=True)
ex = Fake()
ex.LIMIT = Fake()
"""


def test_an_ex_of_ones_own_that_reports_success_is_not_heard(course, path):
    edit(path, lambda notebook: answer(notebook, "90.2", f"{FAKE_EX}\nlimit = 1"))
    result = cli("grade", path)
    assert result.exit_code == 1 and "Total: 0 of 4 points" in result.stdout
    assert "not met: It is right." in result.stdout  # the judge looked at `limit` itself


def test_the_students_own_cells_and_moved_answers_count(course, path, tmp_path):
    def change(notebook):
        answer(notebook, "90.1", "def double(x):\n    return helper(x)")
        notebook.cells.append(v4.new_code_cell("1 / 0"))
        notebook.cells.insert(3, v4.new_code_cell("def helper(x):\n    return 2 * x"))
        moved = cell_of(notebook, "answer", "90.2")
        moved.source = "raise ValueError('\\x1b[31mred')"
        notebook.cells.remove(moved)
        notebook.cells.append(moved)

    edit(path, change)
    result = cli("grade", path, "--junit", tmp_path / "grades.xml")
    assert result.exit_code == 1 and "2 of 4 points" in result.stdout
    suite = ElementTree.parse(tmp_path / "grades.xml").getroot()[0]
    assert suite.attrib["failures"] == "1" and suite.attrib["errors"] == "0"
    assert suite[1][0].text == "its answer cell: ValueError: \\x1b[31mred"


def test_an_answer_that_raises_costs_only_its_own_points(course, path):
    def change(notebook):
        answer(notebook, "90.1", "def double(x)\n    return 2 * x")
        answer(notebook, "90.2", "limit = 65504")

    edit(path, change)
    result = cli("grade", path)
    assert result.exit_code == 1 and "2 of 4 points" in result.stdout
    assert "its answer cell: SyntaxError: expected ':'" in result.stdout


def test_an_endless_answer_cell_is_stopped_and_the_rest_is_graded(course, path):
    def change(notebook):
        answer(notebook, "90.1", "while True:\n    pass")
        answer(notebook, "90.2", "limit = 65504")

    edit(path, change)
    result = cli("grade", path, "--cell-limit", 5)
    assert result.exit_code == 1 and "2 of 4 points" in result.stdout
    assert "its answer cell: did not finish within 5 s" in result.stdout


def test_an_answer_that_ends_its_process_costs_only_its_own_points(course, path):
    def change(notebook):
        answer(notebook, "90.1", RIGHT)
        answer(notebook, "90.2", "import os\nos.abort()")

    edit(path, change)
    result = cli("grade", path)
    assert result.exit_code == 1 and "2 of 4 points" in result.stdout
    assert "its answer cell: your code ended its process" in result.stdout


def test_other_notebooks_are_graded_when_one_cannot_be(course, path, tmp_path):
    bad = tmp_path / "cut_off.ipynb"
    bad.write_text(path.read_text()[:500])
    result = cli("grade", bad, course.solved_path("91_other"))
    assert result.exit_code == 2
    assert "Total: 2 of 2 points" in result.stdout and "cut_off.ipynb" in result.stderr


def test_all_of_the_students_notebooks_are_graded_by_default(course, monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    result = cli("grade")
    assert result.exit_code == 1 and "90_fake.ipynb: 0 of 4 points" in result.stdout
    assert "91_other.ipynb: 0 of 2 points" in result.stdout


def not_json(path):
    path.write_text(path.read_text()[:500])


def not_text(path):
    path.write_bytes(b"\x89PNG\xff")


def not_a_notebook(path):
    path.write_text('{"cells": 3}')


def not_valid(path):
    path.write_text(path.read_text().replace('"markdown"', '"marked"'))


def not_there(path):
    path.unlink()


def twice_the_same_id(path):
    notebook = read_notebook(path)
    ids = [cell_of(notebook, "answer", number).id for number in ("90.1", "90.2")]
    path.write_text(path.read_text().replace(*ids))


def no_lesson(path):
    edit(path, lambda notebook: notebook.metadata.pop("course"))


def another_course(path):
    edit(path, lambda notebook: notebook.metadata.course.update(lesson="77_elsewhere"))


def two_copies_of_an_answer(path):
    def change(notebook):
        original = cell_of(notebook, "answer", "90.1")
        notebook.cells += [original.copy(), original.copy()]
        notebook.cells[-1].id, notebook.cells[-2].id = "copy-1", "copy-2"
        notebook.cells.remove(original)

    edit(path, change)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (not_json, "its JSON breaks at line"),
        (not_text, "a notebook is text"),
        (not_a_notebook, "holds no list of cells"),
        (not_valid, "is not a valid notebook"),
        (not_there, "does not exist"),
        (twice_the_same_id, "holds 2 cells with the id"),
        (no_lesson, "is no notebook of this course"),
        (another_course, "is of another course: '77_elsewhere'"),
        (two_copies_of_an_answer, "has 2 answer cells of exercise 90.1"),
    ],
)
def test_a_notebook_that_cannot_be_graded_is_refused_in_one_sentence(spoil, message, path):
    spoil(path)
    result = cli("grade", path)
    assert result.exit_code == 2 and message in result.stderr
    assert "why:" in result.stderr and "fix:" in result.stderr


def test_a_full_disk_is_told_after_the_grade_was_shown(course, monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    result = cli("grade", course.solved_path("91_other"), "--json", "/dev/full")
    assert result.exit_code == 2 and "2 of 2 points" in result.stdout
    assert "/dev/full could not be written: No space left on device" in result.stderr
