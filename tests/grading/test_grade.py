"""`course grade` counts the results of the lesson's own checks in the box, and nothing else.

One call grades all the notebooks: what takes time is the start of a grader.
"""

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from click.testing import Result
from fake_course import FAKE_GRADER, FIXTURES, answer, build, cell_of, cli, edit, sources_in
from nbformat import v4

from course_utils.files.progress import Progress
from course_utils.grading import worker
from course_utils.notebook.files import read_notebook

lessons_90_and_91, unbuilt, course = FIXTURES

RIGHT = "def double(x):\n    return x + x"
FAKE_EX = """\
from IPython.display import display
class Fake:
    def check(self, answer):
        report = {"exercise": "90.2", "outcome": "passed", "unmet": [], "details": [], "secret": ""}
        display({"application/vnd.course.check+json": report}, raw=True)
ex = Fake()
ex.LIMIT = Fake()
"""


def unsolved(notebook):
    pass


def forged(notebook):
    answer(notebook, "90.1", "never_called_double = lambda x: 2 * x")
    cell_of(notebook, "check", "90.1").source = "ex.DOUBLE.check(lambda x: 2 * x)"
    notebook.cells.append(cell_of(notebook, "check", "90.1").copy())
    notebook.cells[-1].id = "forged"
    notebook.cells = [c for c in notebook.cells if c.metadata.course != {"role": "lesson"}]
    del notebook.cells[-2]


def own_ex(notebook):
    answer(notebook, "90.2", f"{FAKE_EX}\nlimit = 1")


def own_cells(notebook):
    answer(notebook, "90.1", "def double(x):\n    return helper(x)")
    notebook.cells.append(v4.new_code_cell("1 / 0"))
    notebook.cells.insert(3, v4.new_code_cell("def helper(x):\n    return 2 * x"))
    moved = cell_of(notebook, "answer", "90.2")
    moved.source = "raise ValueError('\\x1b[31mred')"
    notebook.cells.remove(moved)
    notebook.cells.append(moved)


def raises(notebook):
    answer(notebook, "90.1", "def double(x)\n    return 2 * x")
    answer(notebook, "90.2", "limit = 65504")


def endless(notebook):
    answer(notebook, "90.1", "while True:\n    pass")
    answer(notebook, "90.2", "limit = 65504")


def ends_its_process(notebook):
    answer(notebook, "90.1", RIGHT)
    answer(notebook, "90.2", "import os\nos.abort()")


GRADED = (unsolved, forged, own_ex, own_cells, raises, endless, ends_its_process)


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


REFUSED = {
    not_json: "its JSON breaks at line",
    not_text: "a notebook is text",
    not_a_notebook: "holds no list of cells",
    not_valid: "is not a valid notebook",
    not_there: "does not exist",
    twice_the_same_id: "holds 2 cells with the id",
    no_lesson: "is no notebook of this course",
    another_course: "is of another course: '77_elsewhere'",
    two_copies_of_an_answer: "has 2 answer cells of exercise 90.1",
}


class Graded(NamedTuple):
    """One call of `course grade`, and of each notebook, by its name, the result and the suite."""

    call: Result
    results: dict[str, dict]
    suites: dict[str, ElementTree.Element]
    has_changed_files: bool

    def saw(self, name: str, points: int, detail: str) -> bool:
        """Whether a notebook has these points, and this is among what was said of it."""
        result = self.results[name]
        said = [line for exercise in result["exercises"] for line in exercise["details"]]
        assert f"{name}.ipynb: {points} of 4 points" in self.call.stdout
        return result["points"] == points and any(line.startswith(detail) for line in said)


def contents(folder) -> dict:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def graded(lessons_90_and_91, tmp_path_factory) -> Graded:
    """All of the above beside the solved lesson, where a progress file claims a passed answer."""
    folder = tmp_path_factory.mktemp("graded")
    json_path, junit_path = folder / "new" / "g.json", folder / "g.xml"
    with pytest.MonkeyPatch.context() as patch:
        course = build(sources_in(folder / "course", patch, lessons_90_and_91), tmp_path_factory)
        Progress(course.progress_path).record_check("90.1", outcome="passed", points=2)
        paths = [course.notebooks / f"{change.__name__}.ipynb" for change in (*REFUSED, *GRADED)]
        for change, path in zip((*REFUSED, *GRADED), paths, strict=True):
            shutil.copy(course.student_path("90_fake"), path)
            edit(path, change) if change in GRADED else change(path)
        before, paths = contents(course.root), [*paths, course.solved_path("90_fake")]
        options = ("--no-cache", "--cell-limit", 5, "--json", json_path, "--junit", junit_path)
        call = cli("grade", *paths, *options)
        has_changed_files = contents(course.root) != before
    data = json.loads(json_path.read_text())
    results = {one["student"]: one for one in data["notebooks"] + data["refused"]}
    suites = ElementTree.parse(junit_path).getroot()
    by_name = {Path(suite.attrib["name"]).stem: suite for suite in suites}
    return Graded(call, results, by_name, has_changed_files)


def test_solutions_get_full_marks_and_unsolved_notebooks_none(graded):
    assert "90_fake.ipynb: 4 of 4 points" in graded.call.stdout
    assert "unsolved.ipynb: 0 of 4 points" in graded.call.stdout
    outcomes = [e["outcome"] for e in graded.results["unsolved"]["exercises"]]
    assert outcomes == ["not attempted", "not attempted"]


def test_nothing_that_is_graded_is_changed(graded):
    assert not graded.has_changed_files


def test_forged_checks_progress_and_kernel_state_earn_nothing(graded):
    assert graded.saw("forged", 0, "its check cell: NameError: name 'double' is not defined")


def test_an_ex_of_ones_own_that_reports_success_is_not_heard(graded):
    # The judge looked at `limit` itself.
    assert graded.saw("own_ex", 0, "not met: It is right.")


def test_the_students_own_cells_and_moved_answers_count(graded):
    message = "its answer cell: ValueError: \\x1b[31mred"
    assert graded.saw("own_cells", 2, message)
    suite = graded.suites["own_cells"]
    assert suite.attrib["failures"] == "1" and suite.attrib["errors"] == "0"
    assert suite[1][0].text == message


def test_an_answer_that_raises_costs_only_its_own_points(graded):
    assert graded.saw("raises", 2, "its answer cell: SyntaxError: expected ':'")


def test_an_endless_answer_cell_is_stopped_and_the_rest_is_graded(graded):
    assert graded.saw("endless", 2, "its answer cell: did not finish within 5 s")


def test_an_answer_that_ends_its_process_costs_only_its_own_points(graded):
    assert graded.saw("ends_its_process", 2, "its answer cell: your code ended its process")


def test_other_notebooks_are_graded_when_some_cannot_be(graded):
    assert graded.call.exit_code == 2
    assert "Total: 12 of 32 points; 9 cannot be graded" in graded.call.stdout


@pytest.mark.parametrize(("spoil", "message"), REFUSED.items())
def test_a_notebook_that_cannot_be_graded_is_refused_in_one_sentence(spoil, message, graded):
    reason = graded.results[spoil.__name__]["reason"]
    assert message in reason and "why:" in reason and "fix:" in reason
    assert reason in graded.call.stderr


def test_the_exit_code_tells_full_marks_from_less_and_from_what_cannot_be_graded(
    course, monkeypatch
):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    solved, student = course.solved_path("91_other"), course.student_path("91_other")
    assert cli("grade", solved).exit_code == 0
    assert cli("grade", solved, student).exit_code == 1
    not_json(student)
    assert cli("grade", student).exit_code == 2
    assert not course.progress_path.exists()


def test_all_of_the_students_notebooks_are_graded_by_default(course, monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    result = cli("grade")
    assert result.exit_code == 1 and "90_fake.ipynb: 0 of 4 points" in result.stdout
    assert "91_other.ipynb: 0 of 2 points" in result.stdout


def test_a_full_disk_is_told_after_the_grade_was_shown(course, monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    result = cli("grade", course.solved_path("91_other"), "--json", "/dev/full")
    assert result.exit_code == 2 and "2 of 2 points" in result.stdout
    assert "/dev/full could not be written: No space left on device" in result.stderr
