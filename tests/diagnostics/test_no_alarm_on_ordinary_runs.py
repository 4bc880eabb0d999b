"""No door of `diagnose` accuses an ordinary run, in float32 or under autocast to bfloat16."""

import pytest
from ordinary import ORDINARY, Run
from transformers import TrainingArguments
from whole import cases

from course_utils.diagnostics import DiagnoseCallback, diagnose
from course_utils.diagnostics.diagnosis.report.report import Diagnosis

STEPS = 8


def module_of(name: str) -> str:
    return ORDINARY[name].module


def by_callback(run: Run, folder) -> Diagnosis:
    trainer = run.make(folder)
    told = DiagnoseCallback(trainer, quiet=True)
    trainer.add_callback(told)
    run.train(trainer)
    return told.report


DOORS = {
    "look": lambda run, folder: diagnose(run.make(folder)),
    "steps": lambda run, folder: diagnose(run.make(folder), steps=STEPS),
    "callback": by_callback,
}


def is_silent(report: Diagnosis) -> None:
    assert not report.causes, f"{report}\n{report.details}"
    raised = [why for why in report.unseen.values() if "raised" in why]
    assert not raised and not report.ended, f"{report}\n{report.details}"
    assert report.checked, "nothing was looked at"


@pytest.fixture
def in_bfloat16(monkeypatch):
    """Every Trainer that is made runs under autocast to bfloat16."""
    settle = TrainingArguments.__post_init__

    def with_bfloat16(args):
        args.bf16 = True
        settle(args)

    monkeypatch.setattr(TrainingArguments, "__post_init__", with_bfloat16)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", cases(ORDINARY, module_of))
def test_no_door_accuses_an_ordinary_run(name, door, tmp_path):
    is_silent(DOORS[door](ORDINARY[name], tmp_path))


@pytest.mark.parametrize("name", cases(ORDINARY))
def test_none_is_accused_in_bfloat16(name, in_bfloat16, tmp_path):
    is_silent(by_callback(ORDINARY[name], tmp_path))
