"""Every exercise accepts its right answers and rejects its wrong ones, for the intended reason."""

import pytest

from course_utils import checking
from course_utils.checking import Outcome
from course_utils.exercises import all_lessons
from course_utils.exercises.declare import MIN_HINTS, MIN_WRONG, TODO

EXERCISES = [exercise for lesson in all_lessons() for exercise in lesson.exercises]
RIGHT = [
    pytest.param(exercise, answer, id=f"{exercise.id}-right-{number}")
    for exercise in EXERCISES
    for number, answer in enumerate(exercise.right)
]
WRONG = [
    pytest.param(exercise, wrong, id=f"{exercise.id}-{wrong.caught_by.__name__}-{number}")
    for exercise in EXERCISES
    for number, wrong in enumerate(exercise.wrong)
]

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)


@each_exercise
def test_an_untouched_stub_is_not_attempted(exercise):
    assert checking.check(exercise, TODO).outcome is Outcome.NOT_ATTEMPTED


@each_exercise
def test_an_untouched_function_stub_is_not_attempted(exercise):
    if not callable(exercise.right[0]):
        pytest.skip("the answer is a value")
    report = checking.check(exercise, lambda *args, **kwargs: TODO)
    assert report.outcome is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_a_right_answer_passes(exercise, answer):
    report = checking.check(exercise, answer)
    assert report.outcome is Outcome.PASSED, report.text()


@pytest.mark.parametrize(("exercise", "wrong"), WRONG)
def test_a_wrong_answer_is_rejected_first_by_the_criterion_meant_for_it(exercise, wrong):
    report = checking.check(exercise, wrong.answer)
    unmet = [f.criterion.observe for f in report.findings if f.saw is not None]
    assert report.outcome is Outcome.WRONG, report.text()
    assert unmet[0] is wrong.caught_by, report.text()
    assert "cannot work with" not in report.text()


@each_exercise
def test_every_criterion_is_the_first_to_reject_some_wrong_answer(exercise):
    assert {c.observe for c in exercise.criteria} == {w.caught_by for w in exercise.wrong}


@each_exercise
def test_an_exercise_has_enough_hints_wrong_answers_and_right_answers(exercise):
    assert len(exercise.hints) >= MIN_HINTS
    assert len(exercise.wrong) >= MIN_WRONG
    assert len(exercise.right) >= 2


def test_ids_are_unique_and_belong_to_their_lesson():
    pairs = [(lesson, e.id) for lesson in all_lessons() for e in lesson.exercises]
    assert len({exercise_id for _, exercise_id in pairs}) == len(pairs)
    assert all(exercise_id.startswith(f"{lesson.number}.") for lesson, exercise_id in pairs)
