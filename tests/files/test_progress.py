"""The progress file survives damage, full disks and two writers."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from course_utils import lesson
from course_utils.checks.declare import TODO
from course_utils.errors import BadRequest, DidNotFail, NotPassed
from course_utils.exercises import find_exercise, find_lesson
from course_utils.files import progress
from course_utils.files.progress import Progress
from course_utils.lesson.handle import progress_table
from course_utils.lesson.passed_answers import PassedAnswers
from tests.answers import right_answers


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.ENV_NAME, str(tmp_path / ".progress.json"))
    return Progress(tmp_path / ".progress.json")


def test_points_once_earned_stay(store):
    store.record_check("03.1", outcome="passed", points=4)
    store.record_check("03.1", outcome="wrong", points=0)
    assert store.exercise("03.1") == {"outcome": "passed", "best": 4, "attempts": 2, "hints": 0}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"exercises": 3}', "\x00\x01"])
def test_a_damaged_file_is_set_aside_and_said_so(store, damage, capsys):
    store.path.write_text(damage)
    store.record_check("03.1", outcome="passed", points=4)
    assert store.exercise("03.1")["best"] == 4
    assert store.path.with_name(".progress.damaged-1.json").read_text() == damage
    assert "kept as .progress.damaged-1.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("exercises", 5),
        ("exercises", {"best": "4"}),
        ("exercises", {"best": -1}),
        ("exercises", {"attempts": True}),
        ("exercises", {"outcome": ["passed"]}),
        ("predictions", ["a"]),
        ("votes", {"C1": 1}),
        ("sources", "def f(): ..."),
        ("draws", 1.5),
    ],
)
def test_one_damaged_entry_costs_no_other(store, capsys, kind, entry):
    store.record_check("03.1", outcome="passed", points=4)
    data = store.read()
    data[kind]["bad"] = entry
    store.path.write_text(json.dumps(data))
    assert store.exercise("03.1")["best"] == 4 and "bad" not in store.read()[kind]
    assert "its 1 sound entries are taken over" in capsys.readouterr().out
    kept = json.loads(store.path.with_name(".progress.damaged-1.json").read_text())
    assert kept[kind]["bad"] == entry


def test_many_writers_lose_nothing(store):
    def write(number):
        Progress(store.path).record_check(f"03.{number}", outcome="passed", points=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert len(store.read()["exercises"]) == 40


def test_a_full_disk_loses_nothing_that_was_saved(store, monkeypatch, capsys):
    store.record_check("03.1", outcome="passed", points=4)

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(progress.os, "fsync", full)
    store.record_check("03.2", outcome="passed", points=4)
    assert "No space left on device" in capsys.readouterr().out
    assert list(json.loads(store.path.read_text())["exercises"]) == ["03.1"]
    assert {p.name for p in store.path.parent.iterdir()} <= {
        ".progress.json",
        ".progress.json.lock",
    }


def test_hints_go_one_further_each_time_and_then_open_the_solution(store, capsys):
    mean = lesson.start("00").MEAN
    mean.solution()
    assert "opens when you pass" in capsys.readouterr().out
    for _ in find_exercise("00.1").hints:
        mean.hint()
    assert "Hint 3 of 3" in capsys.readouterr().out
    mean.solution()
    assert "def " in capsys.readouterr().out


def test_a_later_cell_gets_the_courses_answer_until_the_student_has_one(store, capsys):
    mean = lesson.start("00").MEAN
    right = right_answers(find_exercise("00.1"))
    assert mean.answer is right[0]
    assert "the course's answer is used" in capsys.readouterr().out
    mean.check(right[1])
    assert mean.answer is right[1]


def test_the_variants_of_an_exercise_are_kept_apart(store, capsys):
    plain = {"expects": (int,), "form": None, "criteria": (), "answer": 0}
    first = replace(find_exercise("00.1"), **plain)
    second = replace(first, title="The other case", answer=1)
    PassedAnswers(store).keep(first, 7)
    store.record_check("00.1", outcome="passed", points=1)
    answers = PassedAnswers(store)
    assert (answers.answer(first), answers.answer(second)) == (7, 1)
    assert f"you passed {first.title}, not this one" in capsys.readouterr().out


def test_strict_raises_at_a_check_that_is_not_passed(store):
    with pytest.raises(NotPassed, match="not attempted"):
        lesson.start("00", strict=True).MEAN.check(TODO)


def test_a_slip_cannot_replace_an_exercise_or_its_check(store):
    ex = lesson.start("00")
    with pytest.raises(AttributeError, match="another name"):
        ex.MEAN = 3
    with pytest.raises(AttributeError, match="another name"):
        ex.MEAN.check = print


def test_a_todo_after_a_pass_says_that_the_points_stay(store, capsys):
    mean = lesson.start("00").MEAN
    mean.check(TODO)
    assert "passed this exercise before" not in capsys.readouterr().out
    mean.check(right_answers(find_exercise("00.1"))[0])
    mean.check(TODO)
    assert "passed this exercise before" in capsys.readouterr().out


def test_a_prediction_has_no_hint_and_says_so(store, capsys):
    lesson.start("00").SUM_IN_HALF.hint()
    assert "has no hints" in capsys.readouterr().out


def test_a_prediction_is_stored_and_shown_back(store, capsys):
    ex = lesson.start("00")
    ex.SUM_IN_HALF.predict("c")
    ex.SUM_IN_HALF.recall("c", holds=True)
    shown = capsys.readouterr().out
    assert "You predicted c) inf" in shown and "That is what was seen." in shown
    ex.SUM_IN_HALF.predict("d")
    ex.SUM_IN_HALF.recall("c", holds=True)
    shown = capsys.readouterr().out
    assert "You predicted d) nan" in shown and "Seen: c) inf" in shown
    with pytest.raises(BadRequest, match="'z' is not one of the choices"):
        ex.SUM_IN_HALF.predict("z")


def test_a_prediction_is_not_answered_without_evidence(store, capsys):
    lesson.start("00").SUM_IN_HALF.recall("c", holds=False)
    shown = capsys.readouterr().out
    assert "This seed does not show it. Usually seen: c) inf" in shown and "That is" not in shown
    with pytest.raises(DidNotFail, match="not what this run shows"):
        lesson.start("00", strict=True).SUM_IN_HALF.recall("c", holds=False)


def test_points_of_the_deeper_looks_are_counted_apart(store):
    two = replace(find_lesson("07"), deeper=("07.2",))
    table = progress_table([two], store)
    core, deeper = two.points - two.exercises[1].points, two.exercises[1].points
    assert table.notes == (
        f"0 of {two.points} points: core 0 of {core}, deeper look 0 of {deeper}",
    )
    assert table.rows[1][2].endswith(", deeper look")


def test_tab_completion_leads_the_way(store):
    ex = lesson.start("00")
    assert [name for name in dir(ex) if not name.startswith("_")] == [
        "MEAN",
        "SUM_IN_HALF",
        "progress",
        "resume",
    ]
    assert "check" in dir(ex.MEAN)


@pytest.mark.parametrize("name", ["7", "98", "start", "00_other", ""])
def test_an_unknown_lesson_is_named_with_the_known_ones(name):
    with pytest.raises(BadRequest, match="00_start_here"):
        find_lesson(name)
