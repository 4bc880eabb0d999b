"""The judge outside reaches the same verdict as a check in the notebook.

`make test` takes one right and one wrong answer of each lesson, `make prove` all.
"""

import os
import socket
import warnings
from collections.abc import Iterator

import by_lesson
import pytest
from by_lesson import lessons
from course_command import ROOT
from torch import nn
from whole import cases

from course_utils.checks import checking
from course_utils.checks.report import CheckReport
from course_utils.checks.sample_modules import Sure
from course_utils.grading.judge.judging_mode import DATA, INSIDE, PROXY, how
from tests.answers import right_answers, wrong_answers

pytest.importorskip("IPython")
if not hasattr(os, "fork"):
    pytest.skip("the judge's workers are forked", allow_module_level=True)

# What an answer leaves in a model beyond numbers stays on its side: then more fails, never less.
LEFT_THERE = "No hook is left; parameters and buffers stay such, trained or not; modes stay."
EXERCISES = [v for lesson in lessons() for e in lesson.exercises for v in e.variants]


def answers(exercise) -> Iterator[tuple[str, object]]:
    for answer in right_answers(exercise):
        yield "right", answer
    for one in wrong_answers(exercise):
        if callable(one.answer):
            yield "wrong", one.answer


CASES = [
    pytest.param(exercise, answer, id=f"{exercise.id}-{said}-{number}")
    for exercise in EXERCISES
    if how(exercise) == PROXY
    for number, (said, answer) in enumerate(answers(exercise))
    if not isinstance(answer, str)
]
if not CASES:  # one lesson alone, whose answers are data or stay inside
    why = pytest.mark.skip("no answer of this lesson is called from outside")
    CASES = [pytest.param(None, None, id=f"{by_lesson.only}-none", marks=why)]


def lesson_and_side(case) -> tuple[str, str]:
    return case.id[:2], case.id.split("-")[1]


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """For the folders of the other process, which is killed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def by_proxy(exercise, answer) -> CheckReport:
    """The check's report on an answer that lives in a separate process."""
    from course_utils.grading.judge.remote import Worker

    judges, students = socket.socketpair()
    with judges, students:
        if (pid := os.fork()) == 0:
            _serve(students, judges, answer)
        students.close()
        is_there, value = Worker(judges).answer("answer")
        assert is_there
        report = checking.check(exercise, value)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return report


def _serve(students: socket.socket, judges: socket.socket, answer) -> None:
    from course_utils.grading.judge.student import Student, make_shell

    try:
        judges.close()
        warnings.resetwarnings()  # a student's process makes no errors of them
        shell = make_shell()
        shell.user_ns["answer"] = answer
        Student(students, shell).serve()
    finally:
        os._exit(0)


def verdict(report: CheckReport) -> tuple:
    unmet = [one.criterion.says for one in report.observed if one.saw is not None]
    return report.outcome, unmet


@pytest.mark.parametrize(("exercise", "answer"), cases(CASES, lesson_and_side))
def test_an_answer_elsewhere_gets_the_verdict_of_one_here(exercise, answer):
    outcome, unmet = verdict(by_proxy(exercise, answer))  # first: some answers remember their calls
    here, unmet_here = verdict(checking.check(exercise, answer))
    assert outcome == here
    assert unmet == unmet_here or (LEFT_THERE in unmet_here and set(unmet_here) < set(unmet))


def test_no_exercise_has_a_module_of_its_own_which_no_box_could_import():
    every, below = set(), [nn.Module]
    while below:
        every |= (new := {*below.pop().__subclasses__()} - every)
        below += new
    assert Sure in every and EXERCISES
    assert not [one for one in every if one.__module__.startswith("course_utils.exercises")]


def test_how_each_exercise_is_judged(capsys):
    rows = {exercise.id: how(exercise) for exercise in EXERCISES}
    with capsys.disabled():
        print("\n" + "\n".join(f"{number}  {said}" for number, said in rows.items()))
    inside = [number for number, said in rows.items() if said.startswith(INSIDE)]
    wanted = "05.4, 05.8, 06.12, 07.8, 08.5, 08.8, 09.7, 09.9, 11.1, 11.2"
    assert ", ".join(inside) == wanted
    assert f"({wanted})" in (ROOT / "docs" / "instructors.md").read_text()
    assert {said for said in rows.values() if not said.startswith(INSIDE)} == {DATA, PROXY}
