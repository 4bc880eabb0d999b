"""The first non-finite number is named in every planted fault, and no healthy run is accused."""

import pytest
import torch
from faults import healthy, losses, models, modules, trainers
from faults.planted import take_step
from torch.utils._python_dispatch import _disable_current_modes
from trl.kernels import chunked_logprob
from whole import cases

from course_utils.diagnostics import trace_step, watch

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the faults themselves and old APIs inside trl warn
    pytest.mark.timeout(120),
]

STEPS = [*losses.FAULTS, *modules.FAULTS, *models.FAULTS]


def place(fault) -> tuple[str, str]:
    """What makes the first such number, and in which pass."""
    return fault.operation, fault.phase


def kind_of_trainer(fault) -> str:
    """Such as "dpo"."""
    return fault.name.partition("_")[0]


def by_name(faults, kind):
    return [pytest.param(fault, id=fault.name) for fault in cases(faults, kind)]


def builders(functions):
    return [pytest.param(function, id=function.__name__) for function in functions]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def silent(_report):
    pass


def assert_named(report, fault, *, operation, line):
    assert report.found, report.text()
    assert (report.operation, report.phase, report.module) == (
        operation,
        fault.phase,
        fault.module,
    ), report.text()
    assert line in report.line, report.text()
    assert report.reached.startswith(fault.reached), report.text()
    later = report.became_nan.operation if report.became_nan else ""
    assert later == fault.became_nan, report.text()


def test_there_are_enough_faults_and_healthy_runs():
    assert len(STEPS) + len(trainers.FAULTS) >= 25
    assert len(healthy.STEPS) + len(healthy.TRAINERS) >= 10


@pytest.mark.parametrize("fault", by_name(STEPS, place))
def test_tracing_one_step_names_the_culprit(fault):
    planted = fault.build()
    optimizer = planted.optimizer if planted.traces_optimizer else None
    report = trace_step(planted.model, planted.batch, planted.loss_of, optimizer=optimizer)
    assert_named(report, fault, operation=fault.operation, line=fault.line)


@pytest.mark.parametrize("fault", by_name(STEPS, place))
def test_watching_a_loop_names_the_culprit(fault):
    planted = fault.build()
    with watch(planted.model, planted.loss_of, scaler=planted.scaler, then=silent) as watched:
        take_step(planted, watched)
    operation, line = fault.operation, fault.line
    if planted.traces_optimizer:  # a watch does not trace the optimizer, it reads its state
        operation, line = f"{type(planted.optimizer).__name__}.step", "planted.optimizer.step()"
    assert_named(watched.report, fault, operation=operation, line=line)


@pytest.mark.parametrize("fault", by_name(trainers.FAULTS, kind_of_trainer))
def test_watching_a_trainer_names_the_culprit(fault):
    trainer = fault.build()
    with watch(trainer, then=silent) as watched:
        try:
            trainer.train()
        except RuntimeError as error:  # sampling from the weights that the fault destroyed
            assert "probability tensor" in str(error)
    assert_named(watched.report, fault, operation=fault.operation, line=fault.line)


@pytest.mark.parametrize("fault", by_name(trainers.FAULTS[1:4], kind_of_trainer))
def test_tracing_one_batch_of_a_trainer_that_never_trained_names_the_culprit(fault):
    trainer = fault.build()
    report = trace_step(trainer, next(iter(trainer.get_train_dataloader())))
    assert_named(report, fault, operation=fault.operation, line=fault.line)


@pytest.mark.parametrize("build", builders(healthy.TRAINERS))
def test_no_alarm_in_one_batch_of_a_healthy_trainer_and_no_metric_counted(build):
    trainer = build()
    report = trace_step(trainer, next(iter(trainer.get_train_dataloader())))
    assert not report.found, report.text()
    assert not trainer._metrics["train"]


@pytest.mark.parametrize("build", builders(healthy.STEPS))
def test_no_alarm_in_a_healthy_loop(build):
    planted = build()
    optimizer = planted.optimizer if planted.traces_optimizer else None
    report = trace_step(planted.model, planted.batch, planted.loss_of, optimizer=optimizer)
    assert not report.found, report.text()
    with watch(planted.model, planted.loss_of, scaler=planted.scaler, then=silent) as watched:
        for _ in range(3):
            take_step(planted, watched)
    assert not watched.report.found, watched.report.text()
    assert watched.num_steps == 3


@pytest.mark.parametrize("build", builders(healthy.TRAINERS))
def test_no_alarm_in_a_healthy_trainer(build):
    trainer = build()
    with watch(trainer, then=silent) as watched:
        trainer.train()
    assert not watched.report.found, watched.report.text()
    assert watched.num_steps == trainer.args.max_steps


def hidden(function):
    """As a kernel of Triton: no mode of PyTorch sees what it does."""

    def unseen(*args, **settings):
        with _disable_current_modes():
            return function(*args, **settings)

    return unseen


def test_the_trail_goes_through_the_kernels_that_trl_takes_on_a_gpu(monkeypatch):
    for name in ("_forward_tile", "_backward_tile"):
        monkeypatch.setattr(chunked_logprob, name, hidden(getattr(chunked_logprob, name)))
    (fault,) = (one for one in trainers.FAULTS if one.name == "dpo_on_gemma_in_half")
    trainer = fault.build()
    report = trace_step(trainer, next(iter(trainer.get_train_dataloader())))
    assert_named(report, fault, operation=fault.operation, line=fault.line)
    assert "does not show" in report.note
