"""Answers that were graded before get their score without being run, and no others do."""

import json
import os
import time
from dataclasses import replace

import pytest
from fake_course import FIXTURES, answer, cli, edit
from nbformat import v4

from course_utils.box.kind import Kind
from course_utils.grading import grade_cache, one_submission, worker
from course_utils.grading.grade_cache import GradeCache
from course_utils.grading.submission import read_submission
from course_utils.notebook.execute import Limits

lessons_90_and_91, unbuilt, course = FIXTURES
RIGHT = "def double(x):\n    return helper(x)"
HELPER = "def helper(x):\n    return 2 * x"


class Judge:
    """In place of a box: says what it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked, self.says = [], {}

    def scores(self, cells, wanted, limits):
        self.asked.append(wanted)
        for number in wanted:
            told = {"outcome": "passed", "unmet": [], "details": [], "whole": False}
            yield {"exercise": number} | told | self.says.get(number, {})


@pytest.fixture
def judge(monkeypatch):
    judge = Judge()
    monkeypatch.setattr(one_submission, "_box", lambda lesson, kind: judge)
    monkeypatch.setattr(one_submission, "_kind", lambda: Kind("bubblewrap", "of a test"))
    return judge


@pytest.fixture
def path(course):
    path = course.student_path("90_fake")

    def change(notebook):
        answer(notebook, "90.1", RIGHT)
        answer(notebook, "90.2", "limit = 65504")
        notebook.cells.insert(3, v4.new_code_cell(HELPER))

    edit(path, change)
    return path


@pytest.fixture
def graded(course, path, judge, tmp_path):
    """Grades the notebook, and tells which exercises the judge was asked for."""

    def grade(course_version="v1", cell_s=5.0, change=None):
        if change:
            edit(path, change)
        judge.asked.clear()
        store = GradeCache(tmp_path / "known", course_version, cell_s)
        submission = replace(read_submission(path), lesson="90_fake")
        scores = one_submission.grade_one(course, submission, Limits(cell_s, 60), store)
        return scores, [number for wanted in judge.asked for number in wanted]

    return grade


def test_the_same_answers_are_not_run_again(graded):
    first, asked = graded()
    assert asked == ["90.1", "90.2"] and first.points == 4
    assert graded() == (first, [])


def test_comments_and_layout_make_no_other_answer(graded):
    graded()

    def change(notebook):
        answer(notebook, "90.1", "# mine\n\ndef double(x):  # twice\n    return helper( x )")

    assert graded(change=change)[1] == []


@pytest.mark.parametrize(
    ("exercise", "source"),
    [("90.1", "def double(x):\n    return helper(x) + 0"), ("90.2", "limit = 65505")],
)
def test_another_answer_is_run_and_no_other_exercise(graded, exercise, source):
    graded()
    assert graded(change=lambda n: answer(n, exercise, source))[1] == [exercise]


def test_a_cell_that_the_answer_needs_counts_and_others_do_not(graded):
    graded()

    def helper(notebook):
        [cell] = [c for c in notebook.cells if c.source == HELPER]
        cell.source = HELPER.replace("2", "3")

    def another(notebook):
        notebook.cells.insert(4, v4.new_code_cell("unrelated = 1"))

    assert graded(change=another)[1] == []
    assert graded(change=helper)[1] == ["90.1"]


def test_another_course_or_limit_is_another_verdict(graded):
    graded()
    assert graded(course_version="v2")[1] == ["90.1", "90.2"]
    assert graded(cell_s=6.0)[1] == ["90.1", "90.2"]


def test_what_rests_on_every_cell_is_known_only_with_all_of_them(graded, judge):
    judge.says = {"90.1": {"whole": True}}
    graded()
    assert graded()[1] == []

    def another(notebook):
        notebook.cells.insert(3, v4.new_code_cell("unrelated = 1"))

    assert graded(change=another)[1] == ["90.1"]


@pytest.mark.parametrize("outcome", ["raised", "not graded"])
def test_an_error_may_be_the_machines_and_is_never_kept(graded, judge, outcome):
    judge.says = {"90.1": {"outcome": outcome}}
    graded()
    assert graded()[1] == ["90.1"]


UNREADABLE = {
    "a chain": f"if 0:\n    x = a{'.b' * 1500}()",
    "a magic that IPython stumbles over": "%time= %\\\r",
    "a long cell": "#" * 31_000,
    "450 magics": "".join(f"a{n} = !x\n" for n in range(450)) + "x = 1\n" * 1000,
    "a deep formula": f"x = {'-' * 200}1",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_cell_that_cannot_be_read_is_run_each_time_and_costs_no_time(graded, what):
    def unreadable(notebook):
        notebook.cells.insert(4, v4.new_code_cell(UNREADABLE[what]))

    began = time.process_time()
    assert graded(change=unreadable)[0].points == 4
    assert graded()[1] == ["90.1", "90.2"]
    assert time.process_time() - began < 5


def test_without_walls_nothing_is_taken_or_kept(graded, monkeypatch, tmp_path):
    monkeypatch.setattr(one_submission, "_kind", lambda: Kind("none", "of a test"))
    graded()
    assert graded()[1] == ["90.1", "90.2"] and not (tmp_path / "known").exists()


def test_reading_that_takes_long_ends_and_nothing_is_kept(graded, monkeypatch):
    def endless(*_):
        while True:
            pass

    monkeypatch.setattr(grade_cache, "MAX_S", 0.01)
    monkeypatch.setattr(grade_cache, "drawn", endless)
    assert graded()[0].points == 4
    assert graded()[1] == ["90.1", "90.2"]


def forged(path, how):
    kept = json.loads(path.read_text())
    if how == "cut off":
        path.write_text(path.read_text()[:20])
    elif how == "of another answer":
        path.write_text(json.dumps(kept | {"key": "0" * 64}))
    elif how == "an outcome that is none":
        path.write_text(json.dumps(kept | {"outcome": "excellent"}))
    elif how == "too large":
        path.write_text(json.dumps(kept | {"details": ["x" * grade_cache.MAX_BYTES]}))
    elif how == "details that are none":
        path.write_text(json.dumps(kept | {"details": [{}]}))
    elif how == "a link":
        path.rename(path.with_suffix(".real"))
        path.symlink_to(path.with_suffix(".real"))
    else:
        path.unlink()
        os.mkfifo(path)


@pytest.mark.parametrize(
    "how",
    [
        "cut off",
        "of another answer",
        "an outcome that is none",
        "too large",
        "details that are none",
        "a link",
        "a pipe",
    ],
)
def test_a_verdict_that_cannot_be_trusted_is_none(graded, tmp_path, how):
    graded()
    for path in list((tmp_path / "known").glob("*.json")):
        forged(path, how)
    assert graded()[1] == ["90.1", "90.2"]


def test_the_folder_is_bounded_and_a_full_disk_costs_no_grade(graded, monkeypatch, tmp_path):
    monkeypatch.setattr(grade_cache, "MAX_FILES", 1)
    graded()
    assert len(list((tmp_path / "known").iterdir())) == 1
    monkeypatch.setattr(grade_cache, "MAX_FILES", 9)
    (tmp_path / "known").rename(tmp_path / "before")
    (tmp_path / "known").write_text("no folder")
    assert graded()[0].points == 4


def test_the_command_names_a_folder_beside_the_results_and_no_cache_none(
    course, tmp_path, monkeypatch
):
    seen = []

    def result(_self, request):
        seen.append(request.known)
        return worker.CannotBeGraded("of a test")

    monkeypatch.setattr("course_utils.grading.batch.Grader.result", result)
    path, out = course.student_path("90_fake"), tmp_path / "out"
    cli("grade", path, "--no-sandbox", "--out", out)
    cli("grade", path, "--no-sandbox", "--out", tmp_path / "other", "--no-cache")
    assert seen == [str(out / "known"), ""]


@pytest.mark.parametrize("below", ["", "graded", "a/b"])
def test_results_never_lie_where_submissions_do(course, tmp_path, below):
    """A student's folder could else pass for one of results, or of verdicts."""
    (tmp_path / "class" / "known").mkdir(parents=True)
    folder = tmp_path / "class"
    result = cli("grade", folder, "--no-sandbox", "--out", folder / below)
    assert result.exit_code == 2 and "lies in the folder that is graded" in result.stderr
