"""What the optimizers hold, by the counts of a run's steps."""

from types import SimpleNamespace

import pytest
from torch import nn

from course_utils.diagnostics.diagnosis.judges.held import judge_held
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.watches.steps import StepNumbers, Steps

NUM = 12


def steps_of(model, **counts):
    numbers = [StepNumbers(n, 1e-3, 1.0, 0, 0, 4, 1.0, 0.1) for n in range(1, NUM + 1)]
    steps = Steps(model, numbers=numbers)
    for name, counter in counts.items():
        getattr(steps, name).update(counter)
    return steps


def keys(model, steps):
    sheet = Sheet()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    judge_held(SimpleNamespace(model=model, trainable=lambda: trained), steps, sheet)
    return [(one.key, one.place) for one in sheet.found]


@pytest.fixture
def student():
    model = nn.Module()
    model.body, model.teacher = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))
    return model


def test_a_teacher_that_steps_move_does_not_stand_still(student):
    moved = {"body.weight": NUM, "teacher.0.weight": NUM}
    assert keys(student, steps_of(student, moved=moved)) == [("reference_moves", "teacher")]


def test_a_teacher_that_may_be_trained_and_never_moves_is_none(student):
    """Its pass is under no_grad, say: whether it requires a gradient does not matter then."""
    assert all(p.requires_grad for p in student.teacher.parameters())
    moved = {"body.weight": NUM, "teacher.0.weight": 0}
    assert keys(student, steps_of(student, moved=moved)) == []


def test_an_adapter_that_is_called_reference_is_no_teacher():
    model = nn.Module()
    model.lora_A = nn.ModuleDict({"reference": nn.Linear(2, 2)})
    assert keys(model, steps_of(model, moved={"lora_A.reference.weight": NUM})) == []


def test_weights_with_a_gradient_that_no_optimizer_steps(student):
    steps = steps_of(student, unheld={"teacher.0.weight": NUM, "teacher.0.bias": 2})
    assert keys(student, steps) == [("optimizer_holds_others", "teacher.*.weight")]
    steps.ever_held.add("teacher.0.weight")  # by another optimizer
    assert keys(student, steps) == []
