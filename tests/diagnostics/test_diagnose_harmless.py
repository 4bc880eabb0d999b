"""`diagnose` changes nothing: not by looking, not by steps it undoes, not by riding along."""

import copy
import random

import numpy as np
import pytest
import torch
from diagnosed_runs import TRAINERS, grpo, sft

from course_utils.diagnostics import DiagnoseCallback, diagnose
from course_utils.diagnostics.diagnosis import ride
from course_utils.diagnostics.diagnosis.watches import steps as stepping
from course_utils.errors import BadRequest, Unsupported


def state_of(trainer) -> dict:
    """All that a run reads, in copies."""
    return {
        "weights": [p.detach().clone() for p in trainer.model.parameters()],
        "buffers": [b.detach().clone() for b in trainer.model.buffers()],
        "gradients": [p.grad is None for p in trainer.model.parameters()],
        "trainable": [p.requires_grad for p in trainer.model.parameters()],
        "modes": [m.training for m in trainer.model.modules()],
        "hooks": [len(m._forward_hooks) for m in trainer.model.modules()],
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tolist(),
        "args": copy.deepcopy(trainer.args.to_dict()),
        "state": copy.deepcopy(vars(trainer.state)),
        "callbacks": list(trainer.callback_handler.callbacks),
        "attributes": sorted(vars(trainer)),
        "optimizer": trainer.optimizer,
        "prepared": len(trainer.accelerator._models),
    }


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or a == b


@pytest.mark.parametrize("kind", TRAINERS)
@pytest.mark.parametrize("steps", [0, 2])
def test_a_look_and_steps_leave_everything_as_it_was(kind, steps):
    trainer = TRAINERS[kind]()
    before = state_of(trainer)
    report = diagnose(trainer, steps=steps)
    after = state_of(trainer)
    assert [name for name in before if not same(before[name], after[name])] == []
    assert not report.causes, str(report)
    assert report.checked


@pytest.mark.parametrize("make", [sft, grpo])
def test_the_run_after_it_is_the_run_without_it(make):
    alone, looked_at = make(), make()
    state = torch.get_rng_state()
    alone.train()
    torch.set_rng_state(state)
    diagnose(looked_at, steps=2)
    assert torch.equal(torch.get_rng_state(), state)
    looked_at.train()
    assert same(state_of(alone)["weights"], state_of(looked_at)["weights"])


@pytest.mark.parametrize("make", [sft, grpo])
def test_riding_along_changes_no_weight(make):
    alone, watched = make(), make()
    state = torch.get_rng_state()
    alone.train()
    torch.set_rng_state(state)
    callback = DiagnoseCallback(watched, quiet=True)
    watched.add_callback(callback)
    watched.train()
    assert same(state_of(alone)["weights"], state_of(watched)["weights"])
    assert callback.report.is_healthy, str(callback.report)
    assert "finite in 3 steps" in callback.report.headline


def test_an_optimizer_that_is_there_already_keeps_its_state():
    trainer = sft()
    trainer.train()
    before = copy.deepcopy(trainer.optimizer.state_dict()["state"])
    history = list(trainer.state.log_history)
    trainer.args.max_steps = 6
    diagnose(trainer, steps=2)
    after = trainer.optimizer.state_dict()["state"]
    assert all(same(list(before[i].values()), list(after[i].values())) for i in before)
    assert trainer.state.log_history == history and trainer.state.global_step == 3


def test_whatever_fails_inside_never_reaches_the_run(monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(stepping.Steps, "_held", fail)
    monkeypatch.setattr(ride, "judge_policy", fail)
    monkeypatch.setattr(ride, "look_before", fail)
    trainer = sft()
    with diagnose.watching(trainer) as run:
        trainer.train()
    assert trainer.state.global_step == 3
    assert "broken on purpose" in " ".join(run.report.unseen.values())
    assert not run.report.causes


def test_what_cannot_be_put_back_is_refused_in_a_sentence():
    with pytest.raises(BadRequest, match="no model, Trainer or folder"):
        diagnose(3)
    with pytest.raises(BadRequest, match="needs a Trainer"):
        diagnose(torch.nn.Linear(1, 1), steps=1)
    with pytest.raises(BadRequest, match="nothing is done with lable"):
        diagnose(torch.nn.Linear(1, 1), lable=1)
    trainer = sft()
    trainer.train_dataset = iter([])
    with pytest.raises(Unsupported, match="stream"):
        diagnose(trainer, steps=1)
