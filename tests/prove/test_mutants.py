"""The mutation run changes code that judges, and sees which tests notice."""

import json
import subprocess
import sys

import pytest

from tests.prove.forked_pytest import ROOT
from tests.prove.mutation import draw
from tests.prove.reaching import EXERCISES, ROOMS, files_of, reaching

JUDGE = '''"""Judges a number."""


def is_small(x: int | None) -> bool:
    return x is not None and x < 10
'''
TESTS = """import os
import judge

def test_what_make_test_takes():
    assert judge.is_small(3) and not judge.is_small(30)

def test_what_the_whole_proof_takes():
    assert not os.environ.get("PROVE") or not judge.is_small(10)
"""


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder / "judge.py").write_text(JUDGE)
    (folder / "test_judge.py").write_text(TESTS)
    return folder


JUDGED = """import json, sys
from pathlib import Path
import course_utils.notebook, nbval.plugin  # once, and not in every fork
from tests.prove import mutants
from tests.prove.mutation import Mutant
drawn = [Mutant(*fields) for fields in json.loads(sys.argv[2])]
course = Path(sys.argv[1])
print(json.dumps([mutants.judge(course, mutant, ["test_judge.py"]) for mutant in drawn]))"""


def judged(course, *changed: str) -> subprocess.CompletedProcess:
    """In a process that has imported little, as the mutation run's: it is forked."""
    was = "x < 10"
    mutants = json.dumps([("judge.py", 5, was, now, JUDGE.replace(was, now)) for now in changed])
    command = [sys.executable, "-c", JUDGED, str(course), mutants]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_mutant_is_killed_by_the_quick_tests_by_all_cases_or_by_none(course):
    by_both, by_whole, by_none = json.loads(judged(course, "x > 10", "x <= 10", "x < 9").stdout)
    assert all(by_both) and by_none == ["", ""]
    assert not by_whole[0] and "the_whole_proof_takes" in by_whole[1]
    assert (course / "judge.py").read_text() == JUDGE


def test_a_case_that_fails_without_the_mutant_says_nothing_of_it(course):
    always = "import os\ndef test_one():\n    assert not os.environ.get('PROVE')\n"
    (course / "test_judge.py").write_text(always)
    assert "fails without it too" in judged(course, "x > 10").stderr


def test_a_mutant_is_drawn_where_code_judges_and_not_in_texts_or_annotations(course):
    drawn = [draw(course, "judge.py", seed) for seed in range(20)]
    assert {mutant.line for mutant in drawn} == {5}
    assert all(mutant.now != mutant.was == "return x is not None and x < 10" for mutant in drawn)
    assert draw(course, "judge.py", 0) == drawn[0]


def test_an_exercise_is_reached_by_the_cases_with_its_number():
    path = "course_utils/exercises/lesson_04/clipping.py"
    assert reaching(EXERCISES, path)[1:] == [
        "tests/exercises/test_exercises.py",
        "tests/exercises/test_one_trick.py",
        "tests/grading/test_judge.py",
        "-k",
        "clipping.py or [04.5- or [04.5]",
    ]


def test_a_check_is_reached_by_tests_that_import_it_and_by_an_exercise_of_each_lesson():
    [room] = [room for room in ROOMS if room.name == "checks"]
    *_, chosen = reaching(room, "course_utils/checks/time_limit.py")
    assert chosen.startswith("time_limit.py or test_checking.py or [00.1- ")
    assert "test_containment.py" not in chosen
    assert all(f" [{lesson}." in chosen for lesson in ("01", "02", "10", "99"))


def test_every_room_has_modules_and_tests():
    for room in ROOMS:
        assert files_of(room.modules) and files_of(room.tests)
