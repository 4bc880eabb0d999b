"""The guard stops a broken run at once, says what broke, and leaves a healthy run alone."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from course_utils.diagnostics.guard import values
from course_utils.diagnostics.guard.guard import MAX_SKIPPED_STEPS, NonFiniteGuard
from course_utils.errors import BadRequest, TrainingStopped
from course_utils.reproductions.lesson_03.reward_model import reward_trainer
from course_utils.zoo import training

pytestmark = [
    # transformers 5.23 renames the setting; peft and the reward run keep the old name
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing. is deprecated:FutureWarning"),
]


class Line(nn.Module):
    """y = w x, whose loss or gradient can be spoilt at one forward pass."""

    def __init__(self, *, spoil: str = "", at: int = 3):
        super().__init__()
        self.weight, self.frozen = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(2))
        self.frozen.requires_grad = False
        self.spoil, self.at, self.num_calls = spoil, at, 0

    def forward(self, x):
        self.num_calls += 1
        loss = (self.weight * x).square().mean()
        if self.num_calls == self.at and self.spoil == "loss and gradient":
            loss = loss * math.nan
        if self.num_calls == self.at and self.spoil == "loss only":
            loss = loss + torch.tensor(math.nan)
        return {"loss": loss}


def trainer_for(model, folder, *, callbacks=(), **changes):
    settings = {"max_steps": 6, "logging_steps": 1, "per_device_train_batch_size": 1}
    settings |= {"output_dir": folder, "use_cpu": True, **changes}
    config = TrainingArguments(**(training.quiet_config() | settings))
    data = [{"x": torch.ones(4)}] * 64
    return Trainer(model, config, train_dataset=data, callbacks=list(callbacks))


def test_the_reward_run_is_stopped_at_its_first_step_and_the_head_is_named():
    with pytest.raises(TrainingStopped) as stopped:
        reward_trainer(callbacks=[NonFiniteGuard()]).train()
    assert stopped.value.saw.startswith("step 1: weight")
    assert "score" in stopped.value.saw and "float16" in stopped.value.saw
    assert "optimizer.step made it" in stopped.value.saw and "float32" in stopped.value.fix


def test_the_healthy_reward_run_is_left_alone_to_the_last_bit():
    trainers = [reward_trainer(dtype="float32", callbacks=c) for c in ([], [NonFiniteGuard()])]
    logs = []
    for trainer in trainers:
        trainer.train()
        logs.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    assert logs[0] == logs[1] and len(logs[0]) == 3


def test_a_nan_loss_is_stopped_before_it_reaches_the_weights(tmp_path):
    model = Line(spoil="loss and gradient")
    with pytest.raises(TrainingStopped, match="step 3: gradient weight"):
        trainer_for(model, tmp_path, callbacks=[NonFiniteGuard()]).train()
    assert model.weight.isfinite().all()


def test_without_the_guard_the_same_run_logs_finite_losses_and_dies(tmp_path):
    model = Line(spoil="loss and gradient")
    trainer = trainer_for(model, tmp_path)
    trainer.train()
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert all(map(math.isfinite, logged)) and model.weight.isnan().all()


def test_a_nan_that_is_in_the_loss_only_is_seen_through_the_filter_after_attach(tmp_path):
    unattached = trainer_for(Line(spoil="loss only"), tmp_path, callbacks=[NonFiniteGuard()])
    unattached.train()  # nothing but the loss itself shows it, and the filter replaced that
    trainer = trainer_for(Line(spoil="loss only"), tmp_path, gradient_accumulation_steps=2)
    NonFiniteGuard().attach(trainer)
    with pytest.raises(TrainingStopped, match="step 2: loss of micro-batch 1"):
        trainer.train()


def test_stop_lets_the_trainer_finish_with_healthy_weights_and_keeps_the_report(tmp_path, capsys):
    model, guard = Line(spoil="loss and gradient"), NonFiniteGuard(action="stop")
    trainer = trainer_for(model, tmp_path, callbacks=[guard])
    trainer.train()
    assert trainer.state.global_step == 3 and model.weight.isfinite().all()
    assert (guard.found.step, guard.found.kind) == (3, "gradient")
    assert guard.found.headline in capsys.readouterr().out


def test_a_checkpoint_that_is_broken_already_is_refused_before_the_first_step(tmp_path):
    model = Line()
    model.frozen.data[1] = math.inf
    with pytest.raises(TrainingStopped, match=r"step 0: weight frozen .*before the first step"):
        trainer_for(model, tmp_path, callbacks=[NonFiniteGuard()]).train()
    assert model.num_calls == 0


METRICS = [{"kl": None}, {"eval_loss": math.nan}, {"margin": -math.inf}]


@pytest.mark.parametrize("bad", METRICS)
def test_a_metric_that_is_not_finite_is_said_once_and_ends_no_run(bad, capsys):
    control = SimpleNamespace(should_training_stop=False)
    guard = NonFiniteGuard()
    for step in (4, 5):
        guard.on_log(None, SimpleNamespace(global_step=step), control, logs=bad)
    assert guard.found is None and not control.should_training_stop
    assert capsys.readouterr().out.count(f"metric {next(iter(bad))} is") == 1


@pytest.mark.parametrize("bad", METRICS)
def test_a_metric_that_stop_on_names_ends_the_run(bad):
    control = SimpleNamespace(should_training_stop=False)
    guard = NonFiniteGuard(stop_on=["kl", "eval_*", "margin"])
    with pytest.raises(TrainingStopped, match=f"metric {next(iter(bad))}"):
        guard.on_log(None, SimpleNamespace(global_step=4), control, logs=bad)


def test_what_does_not_apply_is_not_a_fault():
    control = SimpleNamespace(should_training_stop=False)
    logs = {"loss": 3e38, "rewards/format/mean": math.nan, "rewards/f/std": None, "name": "run"}
    guard = NonFiniteGuard()
    guard.on_log(None, SimpleNamespace(global_step=4), control, logs=logs)
    assert guard.found is None and not control.should_training_stop


def test_huge_but_finite_fp16_weights_raise_no_alarm():
    model = nn.Linear(64, 64).half()
    nn.init.constant_(model.weight, 60000.0)  # their 2-norm is inf in float16
    loss = torch.tensor(1e38, requires_grad=True)
    assert NonFiniteGuard().check(step=1, loss=loss, model=model) is None


def test_a_grad_scaler_may_search_for_its_scale_but_not_for_ever():
    model, guard = Line(), NonFiniteGuard()
    model.weight.grad = torch.full((4,), math.inf)
    control = SimpleNamespace(should_training_stop=False)
    optimizer = SimpleNamespace(scaler=torch.amp.GradScaler("cpu"))

    def skip(step):
        state = SimpleNamespace(global_step=step)
        guard.on_pre_optimizer_step(None, state, control, model=model, optimizer=optimizer)
        guard.on_log(None, state, control, logs={"grad_norm": math.inf})

    for step in range(MAX_SKIPPED_STEPS):
        skip(step)
    with pytest.raises(TrainingStopped, match="skipped 17 steps in a row"):
        skip(MAX_SKIPPED_STEPS)


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ({"loss": torch.tensor(math.nan)}, "loss"),
        ({"grad_norm": math.inf}, "gradient"),
    ],
)
def test_a_loop_of_your_own_is_stopped_too(bad, kind):
    healthy = {"loss": 0.7, "grad_norm": 1.0, "kl": 0.1}
    guard = NonFiniteGuard(action="stop")
    assert guard.check(step=1, **healthy) is None
    assert guard.check(step=2, **(healthy | bad)).kind == kind


def test_the_report_counts_the_bad_values_and_every_skips_steps():
    model, guard = Line(), NonFiniteGuard(action="stop", every=2)
    model.weight.data[:3] = torch.tensor([math.nan, math.inf, -math.inf])
    assert guard.check(step=1, model=model) is None
    value = guard.check(step=2, model=model).to_dict()["values"][0]
    assert value == dict(
        name="weight", dtype="float32", num_nan=1, num_inf=2, num_values=4, row=None
    )


def test_an_unknown_action_is_refused():
    with pytest.raises(BadRequest, match="warn"):
        NonFiniteGuard(action="warn")


def test_a_loop_with_a_scaler_may_search_for_its_scale_too():
    model, guard, scaler = Line(), NonFiniteGuard(), torch.amp.GradScaler("cpu")
    model.weight.grad = torch.full((4,), math.inf)
    for step in range(1, MAX_SKIPPED_STEPS + 1):
        guard.check(step=step, loss=0.7, grad_norm=math.inf, model=model, scaler=scaler)
    with pytest.raises(TrainingStopped, match="gradient weight"):
        guard.check(step=17, loss=0.7, grad_norm=math.inf, model=model, scaler=scaler)


def test_printing_a_guard_says_what_it_has_looked_at():
    guard = NonFiniteGuard(action="stop")
    assert "looked at nothing" in repr(guard)
    guard.check(step=1, loss=0.7)
    assert "nothing found; it looked 1 times at a loss" in repr(guard)
    guard.check(step=2, loss=math.nan)
    assert "step 2: loss loss is not finite" in repr(guard)


class Overflowing(Line):
    """Finite gradients whose total norm is beyond float32."""

    def forward(self, x):
        return {"loss": (self.weight * x).sum() * 1e20 * 1e-1}


def test_max_grad_norm_0_is_named_when_it_makes_finite_gradients_nan(tmp_path):
    trainer = trainer_for(Overflowing(), tmp_path, max_grad_norm=0.0, optim="sgd")
    NonFiniteGuard().attach(trainer)
    with pytest.raises(TrainingStopped, match="gradient weight") as stopped:
        trainer.train()
    assert stopped.value.fix.startswith("set max_grad_norm=1.0")


@pytest.mark.parametrize("broken", ["all_finite", "gradients", "trainable"])
def test_whatever_fails_inside_the_guard_the_run_goes_on(broken, monkeypatch, tmp_path):
    def fail(*_args):
        raise ZeroDivisionError("planted")

    model, guard = Line(), NonFiniteGuard()
    trainer = trainer_for(model, tmp_path)
    guard.attach(trainer)
    monkeypatch.setattr(values, broken, fail)
    trainer.train()
    assert trainer.state.global_step == 6
    assert "ZeroDivisionError: planted" in repr(guard)


def test_a_guard_on_something_else_than_a_trainer_says_what_to_call():
    with pytest.raises(BadRequest, match=r"guard\.check"):
        NonFiniteGuard().attach(Line())
