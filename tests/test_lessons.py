"""Every lesson, unsolved, through the commands that students and CI use."""

import json

import pytest
from course_command import ROOT, course

from course_utils.exercises import all_lessons
from course_utils.symptoms import SYMPTOMS

# Whole notebooks run here; each has its own limits inside the command.
pytestmark = pytest.mark.timeout(1500)


def test_unsolved_notebooks_run_to_the_end_and_give_no_points(tmp_path):
    fresh = tmp_path / "out"
    done = course("run", "--jobs", "2", "-p", "FAST", "true", "--out", str(fresh))
    summary = json.loads((fresh / "summary.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    ran = {lesson["lesson"] for lesson in summary["lessons"]}
    assert ran == {lesson.stem for lesson in all_lessons()}
    outcomes = {e["outcome"] for lesson in summary["lessons"] for e in lesson["exercises"]}
    assert outcomes == {"not attempted"}
    assert summary["points"] == 0


def test_strict_stops_at_the_first_check_that_is_not_passed(tmp_path):
    done = course("run", "00", "-p", "STRICT", "true", "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "not attempted" in done.stdout


def test_the_readme_knows_every_symptom_and_every_lesson():
    readme = (ROOT / "README.md").read_text()
    for symptom in SYMPTOMS:
        assert symptom.seen in readme
    for lesson in all_lessons():
        assert f"notebooks/{lesson.stem}.ipynb" in readme
        assert lesson.title in readme
