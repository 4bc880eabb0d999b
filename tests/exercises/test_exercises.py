"""Every exercise accepts its right answers and rejects its wrong ones, for the intended reason.

`make test` takes one right answer of each exercise whose check does not train, all answers of a
wrong form, and one wrong answer of each criterion, judged up to the criterion that rejects it, and
a fixed ticket on one seed; `make prove` takes all of them.
"""

import importlib
import pkgutil

import pytest
import torch
from by_lesson import lessons
from whole import IS_WHOLE, cases

from course_utils import exercises
from course_utils.checks import checking
from course_utils.checks.declare import TODO, Exercise
from course_utils.checks.report import Outcome
from course_utils.exercises import all_lessons
from course_utils.shown.report import Table
from tests.answers import HERE, modules_of, right_answers, wrong_answers

EXERCISES = [v for lesson in lessons() for e in lesson.exercises for v in e.variants]
IDS = [f"{e.id}-variant-{e.title}" if e.case else e.id for e in EXERCISES]
RIGHT = [
    pytest.param(exercise, answer, id=f"{exercise.id}-right-{number}")
    for exercise in EXERCISES
    for number, answer in enumerate(right_answers(exercise))
]
WRONG = [
    pytest.param(exercise, wrong, id=f"{exercise.id}-{wrong.caught_by.__name__}-{number}")
    for exercise in EXERCISES
    for number, wrong in enumerate(wrong_answers(exercise))
]

MIN_HINTS, MIN_RIGHT, MIN_WRONG = 2, 3, 8


def exercise_of(case) -> str:
    """Its variants are drawn cases of one kind."""
    return case.values[0].id


def criterion_of(case) -> tuple:
    """A form asks many things in one, so each answer of a wrong form is of a kind of its own."""
    exercise, wrong = case.values
    is_form = wrong.caught_by is exercise.form
    return exercise.id, wrong.caught_by.__name__, case.id if is_form else ""


def trains(exercise: Exercise) -> bool:
    """Its check trains, so it has more time; that it accepts an answer is seen by nbval as well."""
    return exercise.time_limit_s > Exercise.time_limit_s


each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=IDS)


@pytest.fixture(autouse=True)
def tickets_are_trained_on_one_seed(monkeypatch):
    """A reader's fixed run is trained on two."""
    if not IS_WHOLE:
        monkeypatch.setattr("course_utils.oncall.check.NUM_SEEDS", 1)


@each_exercise
def test_an_untouched_stub_is_not_attempted(exercise):
    assert checking.check(exercise, TODO).outcome is Outcome.NOT_ATTEMPTED


@each_exercise
def test_an_untouched_function_stub_is_not_attempted(exercise):
    if not callable(exercise.answer):
        pytest.skip("the answer is a value")
    report = checking.check(exercise, lambda *args, **kwargs: TODO)
    assert report.outcome is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize(
    ("exercise", "answer"),
    cases(RIGHT, exercise_of, elsewhere=lambda case: trains(case.values[0])),
)
def test_a_right_answer_passes(exercise, answer):
    report = checking.check(exercise, answer)
    assert report.outcome is Outcome.PASSED, report.text()


@pytest.mark.kept
@pytest.mark.parametrize(("exercise", "wrong"), cases(WRONG, criterion_of))
def test_a_wrong_answer_is_rejected_first_by_the_criterion_meant_for_it(exercise, wrong):
    report = checking.check(exercise, wrong.answer, until_unmet=not IS_WHOLE)
    unmet = [one.criterion.observe for one in report.observed if one.saw is not None]
    assert report.outcome is Outcome.WRONG, report.text()
    assert unmet[0] is wrong.caught_by, report.text()
    assert "cannot work with" not in report.text()


@each_exercise
def test_every_criterion_is_the_first_to_reject_some_wrong_answer(exercise):
    before_criteria = {exercise.form, checking.leaves_its_inputs_alone}
    caught = {wrong.caught_by for wrong in wrong_answers(exercise)}
    assert {c.observe for c in exercise.criteria} == caught - before_criteria
    assert exercise.form is None or exercise.form in caught


@each_exercise
def test_an_exercise_has_enough_hints_wrong_answers_and_right_answers(exercise):
    num_right, num_wrong = len(right_answers(exercise)), len(wrong_answers(exercise))
    assert len(exercise.hints) >= MIN_HINTS
    assert num_wrong >= MIN_WRONG, f"{exercise.id} has {num_wrong} wrong answers in tests/answers"
    assert num_right >= MIN_RIGHT, f"{exercise.id} has {num_right} right answers in tests/answers"


@each_exercise
def test_an_answer_that_changes_what_it_is_given_is_rejected(exercise):
    if not callable(exercise.answer) or exercise.may_change:
        pytest.skip("the answer is a value, or is asked to change its arguments")
    report = checking.check(exercise, and_changes_its_arguments(exercise.answer))
    if not CHANGED:
        pytest.skip("its arguments cannot be changed")
    assert [one.criterion.observe for one in report.observed] == [checking.leaves_its_inputs_alone]
    if trains(exercise) and not IS_WHOLE:
        return
    again = checking.check(exercise, exercise.answer)
    assert again.outcome is Outcome.PASSED, f"the check's own inputs were spoilt: {again.text()}"


CHANGED: list[object] = []


def and_changes_its_arguments(answer):
    """`answer`, but the first tensor, list or dict it is given is another one afterwards."""
    CHANGED.clear()

    def sloppy(*args, **kwargs):
        result = answer(*args, **kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor) and value.numel():
                value.data.view(torch.uint8).bitwise_not_() if value.dim() else value.data.zero_()
            elif isinstance(value, list):
                value.append(None)
            elif isinstance(value, dict):
                value["added"] = None
            elif isinstance(value, torch.nn.Module):
                value.train(not value.training)
            else:
                continue
            CHANGED.append(value)
            break
        return result

    return sloppy


def test_the_table_of_answers(capsys):
    rows = []
    for lesson in all_lessons():
        for exercise in lesson.exercises:
            for variant in exercise.variants:
                right, wrong = len(right_answers(variant)), len(wrong_answers(variant))
                rows.append((variant.id, variant.title, str(right), str(wrong)))
    totals = (sum(int(row[column]) for row in rows) for column in (2, 3))
    note = "in all {} right and {} wrong answers".format(*totals)
    table = Table(columns=("exercise", "title", "right", "wrong"), rows=rows, notes=(note,))
    with capsys.disabled():
        print(f"\n{table}")
    assert all(int(row[2]) >= MIN_RIGHT and int(row[3]) >= MIN_WRONG for row in rows)


def test_ids_are_unique_and_belong_to_their_lesson():
    pairs = [(lesson, e.id) for lesson in all_lessons() for e in lesson.exercises]
    assert len({exercise_id for _, exercise_id in pairs}) == len(pairs)
    assert all(exercise_id.startswith(f"{lesson.number}.") for lesson, exercise_id in pairs)


def test_every_module_of_exercises_has_one_of_answers_and_no_other_has():
    found = pkgutil.walk_packages(exercises.__path__, f"{exercises.__name__}.")
    modules = [one.name for one in found if ".lesson_" in one.name and not one.ispkg]
    asking = {
        name.removeprefix(f"{exercises.__name__}.")
        for name in modules
        if any(isinstance(x, Exercise) for x in vars(importlib.import_module(name)).values())
    }
    paths = [path.relative_to(HERE).with_suffix("") for path in modules_of("lesson_*")]
    assert {".".join(path.parts) for path in paths} == asking
