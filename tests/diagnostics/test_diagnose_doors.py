"""The four doors of `diagnose` say the same of a run, also of one that raises or dies."""

import os
import signal

import door_runs
import pytest
import torch
from diagnosed_runs import grpo
from transformers import Trainer, default_data_collator

from course_utils import zoo
from course_utils.diagnostics import (
    DiagnoseCallback,
    audit_step,
    compare_splits,
    diagnose,
    run_in_child,
)
from course_utils.errors import BadRequest


def by_steps(trainer):
    return diagnose(trainer, steps=4)


def by_callback(trainer):
    callback = DiagnoseCallback(trainer)
    trainer.add_callback(callback)
    try:
        trainer.train()
    except Exception as error:
        assert type(error).__name__ in callback.report.ended
    return callback.report


def by_watching(trainer):
    run = diagnose.watching(trainer)
    try:
        with run:
            trainer.train()
    except Exception as error:
        assert type(error).__name__ in run.report.ended
    return run.report


DOORS = (by_steps, by_callback, by_watching)
DUE = {  # the first cause, and words of its place, of its headline and of its fix
    "one_micro_batch_without_labels": (
        "labels_masked",
        ("micro-batch 2 of 2", "Step 2", "or the completion until it shows the answer"),
    ),
    "id_outside": ("index_outside", ("input_ids[0, 3]", "is 20", "resize_token_embeddings")),
    "id_outside_later": (
        "index_outside",
        ("input_ids[1, 3], micro-batch 2, row 1", "Step 3: ", "resize_token_embeddings"),
    ),
    "class_outside": ("index_outside", ("labels[1]", "3 classes", "or a vocabulary")),
    "half_overflow": ("fp16_overflow", (".half()", "65504", "or keep this module in float32")),
    "infinite_norm": ("norm_overflows", ("clip_grad_norm_", "every gradient 0", "or find")),
    "infinite_norm_unclipped": (
        "norm_overflows",
        ("clip_grad_norm_", "inf / inf = nan", "or a loss that is a sum"),
    ),
    "one_row_behind_where": (
        "operation_not_finite",
        ("torch.where", "micro-batch 1 of 2, row 1", "the branch not taken"),
    ),
    "smoothed_over_forbidden": (
        "operation_not_finite",
        ("masked_fill", "label_smoothing_factor=0.1", "label_smoothing_factor=0, or"),
    ),
    "no_rows": ("no_samples", ("train_dataset", "0 rows", "each filter")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DUE)
def test_every_door_names_the_cause_with_its_place_and_its_whole_fix(name, capsys):
    key, words = DUE[name]
    reports = [door(door_runs.RUNS[name]()) for door in DOORS]
    for report in reports:
        said = " ".join(str(report).split())
        assert report.causes[0].key == key, said
        assert [word for word in words if word not in said] == [], said
    keys = [[one.key for one in report.causes] for report in reports]
    assert keys[0] == keys[1] == keys[2]
    before = [one.key for one in diagnose(door_runs.RUNS[name]()).causes]
    assert set(before) <= set(keys[0])


def test_no_door_alarms_on_the_healthy_run():
    for door in (diagnose, *DOORS):
        assert door(door_runs.healthy()).is_healthy


def test_a_run_that_raises_is_reported_before_the_exception_goes_on(capsys):
    trainer = door_runs.id_outside_later()
    trainer.add_callback(DiagnoseCallback(trainer))
    with pytest.raises(IndexError):
        trainer.train()
    assert "Place: input_ids[1, 3], micro-batch 2" in capsys.readouterr().out
    trainer = door_runs.id_outside_later()
    with pytest.raises(IndexError), diagnose.watching(trainer):
        trainer.train()
    assert "Place: input_ids[1, 3], micro-batch 2" in capsys.readouterr().out


def divide_by_zero():
    os.kill(os.getpid(), signal.SIGFPE)


def test_a_run_that_dies_is_diagnosed_from_its_child():
    report = diagnose(run_in_child(divide_by_zero))
    assert report.causes[0].key == "sigfpe" and "SIGFPE" in report.ended
    assert "divide_by_zero" in report.causes[0].place and report.fix
    assert diagnose(run_in_child(int)).is_healthy


# --- what is called, and when -----------------------------------------------------------------


def test_a_reward_function_is_called_only_when_asked(tmp_path):
    written = tmp_path / "calls"  # what a closure holds would be put back
    written.touch()

    def counted(completions, **columns):
        with written.open("a") as file:
            file.write(f"{len(completions)} ")
        return zoo.arithmetic.correct_sum(completions=completions, **columns)

    trainer = grpo(counted)
    report = diagnose(trainer)
    assert not written.read_text() and "probe_rewards=True" in str(report)
    diagnose(trainer, probe_rewards=True)
    assert written.read_text() == "4 " * 13  # as the docstring says


CALLS = []  # what a closure or an object holds would be put back


class Counting(Trainer):
    def compute_loss(self, *args, **kwargs):
        CALLS.append("loss")
        return super().compute_loss(*args, **kwargs)


def counted(rows):
    CALLS.append("collator")
    return default_data_collator(rows)


@pytest.mark.parametrize(("accumulated", "losses"), [(1, 2), (2, 5)])
def test_a_look_calls_loss_and_collator_as_often_as_its_docstring_says(accumulated, losses):
    trainer = door_runs.healthy()
    trainer.args.gradient_accumulation_steps = accumulated
    trainer.__class__, trainer.data_collator = Counting, counted
    CALLS.clear()
    diagnose(trainer)
    told = " ".join(diagnose.__doc__.split())
    assert "2 times (5 with gradient accumulation)" in told and "8 rows, twice at most" in told
    assert (CALLS.count("loss"), CALLS.count("collator")) == (losses, 1)


# --- what compare_splits and audit_step say of no gradient, and of a bad one ----------------------


def split(name: str = "healthy", change=None):
    trainer = door_runs.healthy() if name == "healthy" else door_runs.RUNS[name]()
    if change is not None:
        change(trainer.model)
    return compare_splits(trainer, num_ranks=(1,))


def test_splits_of_a_nan_gradient_are_not_drawn_at_random():
    report = split("half_overflow")
    assert "nan or inf" in report.headline and "trace_step" in report.fix
    assert not report.is_healthy


def test_splits_of_a_gradient_of_zero_are_no_all_clear():
    def detach(model):
        model.head.weight.data.zero_()
        model.head.weight.requires_grad_(False)
        model.head.bias.requires_grad_(False)

    report = split(change=detach)
    assert "exactly 0" in report.headline and not report.is_healthy and report.fix


def test_splits_of_a_frozen_model_are_refused_in_words():
    with pytest.raises(BadRequest, match="no weight of the model is trainable"):
        split(change=lambda model: model.requires_grad_(False))


def test_a_gradient_of_zero_speaks_of_no_rewards_where_there_are_none():
    model = torch.nn.Linear(2, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    audit = audit_step(model, torch.ones(1, 2), sgd, loss=lambda m, x: 0.0 * m(x).sum())
    assert audit.causes[0].key == "no_gradient" and "reward" not in audit.cause
    assert "no label counts" in str(audit)


def test_silent_rewards_are_not_said_to_differ():
    trainer = grpo(lambda completions, **_columns: [0.0 for _ in completions])
    assert "the rewards differ" not in str(audit_step(trainer))
