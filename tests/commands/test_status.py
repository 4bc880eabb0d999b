"""`course status` and `course reset`: progress is shown, and nothing a student wrote is lost."""

import errno
import os

import pytest
from fake_course import FIXTURES, answer, cell_of, cli, edit

from course_utils.files.progress import Progress
from course_utils.notebook import files
from course_utils.notebook.derive import is_untouched
from course_utils.notebook.files import read_notebook

lessons_90_and_91, unbuilt, course = FIXTURES


@pytest.fixture
def path(course):
    """A student's copy with two answers, one of them passed."""
    path = course.student_path("90_fake")
    edit(path, lambda notebook: answer(notebook, "90.1", "double = 3"))
    edit(path, lambda notebook: answer(notebook, "90.2", "limit = 65504"))
    Progress(course.progress_path).record_check("90.2", outcome="passed", points=2)
    Progress(course.progress_path).record_check("91.1", outcome="passed", points=2)
    Progress(course.progress_path).record_prediction("90.a", "b")
    return path


def test_status_shows_every_exercise_of_every_lesson(path):
    lines = cli("status").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["90.1", "90.2", "91.1"]
    assert "passed" in lines[2] and lines[-1] == "4 of 6 points"


def test_resetting_a_lesson_keeps_the_copy_and_the_other_lessons(course, path):
    before = path.read_bytes()
    result = cli("reset", "90")
    kept = path.with_name("90_fake.before-reset-1.ipynb")
    assert result.exit_code == 0 and kept.name in result.stdout
    assert kept.read_bytes() == before and is_untouched(read_notebook(path))
    progress = Progress(course.progress_path)
    assert progress.exercise("90.2")["best"] == 0 and progress.exercise("91.1")["best"] == 2
    assert progress.prediction("90.a") is None
    cli("reset", "90_fake")
    assert kept.read_bytes() == before
    assert path.with_name("90_fake.before-reset-2.ipynb").exists()


def test_resetting_an_exercise_changes_one_cell_only(course, path):
    assert cli("reset", "90.2").exit_code == 0
    notebook = read_notebook(path)
    assert "TODO" in cell_of(notebook, "answer", "90.2").source
    assert cell_of(notebook, "answer", "90.1").source == "double = 3"
    assert Progress(course.progress_path).exercise("90.2")["best"] == 0
    assert path.with_name("90_fake.before-reset-1.ipynb").exists()


def test_a_damaged_copy_is_kept_by_a_reset(path):
    path.write_text('{"cells": [')
    assert cli("reset", "90").exit_code == 0
    kept = path.with_name("90_fake.before-reset-1.ipynb")
    assert kept.read_text() == '{"cells": [' and is_untouched(read_notebook(path))


def test_resetting_an_exercise_whose_cell_was_deleted_says_what_to_do(path):
    edit(path, lambda notebook: notebook.cells.remove(cell_of(notebook, "answer", "90.2")))
    result = cli("reset", "90.2")
    assert result.exit_code == 2 and "`course reset 90`" in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("77", "there is no lesson '77'"),
        ("90.7", "there is no exercise '90.7'"),
        ("", "no lesson"),
    ],
)
def test_an_unknown_name_is_told_with_the_known_ones(path, name, message):
    result = cli("reset", name)
    assert result.exit_code == 2 and message in result.stderr
    assert "choose one of" in result.stderr


def test_a_reset_that_cannot_keep_a_copy_does_nothing(path, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    monkeypatch.setattr(files.shutil, "copy2", full)
    result = cli("reset", "90")
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    assert before == {p: p.read_bytes() for p in path.parent.iterdir()}


def test_a_folder_without_a_course_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    result = cli("status")
    assert result.exit_code == 2 and "there is no course in" in result.stderr
