"""The commonest faults of fine-tuning are named, each by the cheapest door that can see it.

The list was written together with the looks: it says what they cover, and nothing of other runs.
"""

from contextlib import nullcontext, suppress

import pytest
from common_faults import FAULTS, Fault
from transformers import Trainer, set_seed
from whole import cases

from course_utils.causes import CAUSES
from course_utils.diagnostics import DiagnoseCallback, diagnose
from course_utils.diagnostics.diagnosis.report.report import Diagnosis


@pytest.fixture(autouse=True)
def seeded():
    """Models are drawn alike, whatever ran before."""
    set_seed(0)


def named() -> list[str]:
    return [name for name, fault in FAULTS.items() if not fault.is_open]


def kind(name: str) -> tuple:
    """Faults of one module that the same door shows."""
    fault = FAULTS[name]
    return fault.make.__module__, fault.is_loop, fault.needs_run


def report_on(fault: Fault, folder, **variant) -> Diagnosis:
    if fault.is_loop:
        return fault.make(diagnose.watching, **variant)
    trainer = fault.make(folder, **variant)
    if not fault.needs_run:
        return diagnose(trainer)
    told = DiagnoseCallback(trainer, quiet=True)
    trainer.add_callback(told)
    trainer.train()
    return told.report


@pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler.step")  # each is of one fault
@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.filterwarnings("ignore:reduction. .mean. divides")
@pytest.mark.parametrize("name", cases(named(), kind))
def test_a_common_fault_is_named(name, tmp_path):
    report = report_on(FAULTS[name], tmp_path)
    keys = [one.key for one in report.causes]
    assert set(keys) & FAULTS[name].causes, f"{report}\n{report.details}"


@pytest.mark.parametrize("name", cases((n for n in FAULTS if FAULTS[n].has_twin), kind))
def test_the_twin_of_a_fault_is_not_accused(name, tmp_path):
    report = report_on(FAULTS[name], tmp_path, healthy=True)
    raised = [why for why in report.unseen.values() if "raised" in why]
    assert not report.causes and not raised, f"{report}\n{report.details}"


def ridden(trainer: Trainer, door: str) -> list[str]:
    """The causes that a door names which rides along with the whole run, also one that raises."""
    told = DiagnoseCallback(trainer, quiet=True)
    watched = diagnose.watching(trainer) if door == "watching" else nullcontext()
    if door == "callback":
        trainer.add_callback(told)
    with suppress(Exception), watched:
        trainer.train()
    return keys(watched.report if door == "watching" else told.report)


def keys(report: Diagnosis) -> list[str]:
    return [one.key for one in report.causes]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases(n for n in named() if not FAULTS[n].is_loop))
def test_every_door_names_a_common_fault(name, tmp_path):
    fault = FAULTS[name]
    told = {door: ridden(fault.make(tmp_path / door), door) for door in ("callback", "watching")}
    if not fault.needs_run:
        told["steps"] = keys(diagnose(fault.make(tmp_path / "steps"), steps=4))
    assert told["callback"] == told["watching"]
    assert all(set(one) & fault.causes for one in told.values()), told


def test_a_fault_that_is_named_is_named_by_causes_of_the_catalogue():
    for name in named():
        assert FAULTS[name].causes & CAUSES.keys(), name
