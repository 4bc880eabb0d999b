"""`DiagnoseCallback` finds its Trainer, reports at the end and before an exception goes on."""

import pytest
from diagnosed_runs import ON_CPU, TRAINERS, sft
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import SFTConfig, SFTTrainer
from whole import cases

from course_utils import zoo
from course_utils.diagnostics import DiagnoseCallback
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.zoo import training


def sft_with(callback, cls=SFTTrainer) -> SFTTrainer:
    """As a user gives a callback: to the constructor."""
    return cls(
        model=zoo.load_policy("tiny", device="cpu"),
        args=SFTConfig(**training.quiet_config(), **ON_CPU),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=never_stops.chats(24),
        callbacks=[callback],
    )


class LosesItsMemory(SFTTrainer):
    """Raises in its second step."""

    def compute_loss(self, *args, **kwargs):
        if self.state.global_step:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super().compute_loss(*args, **kwargs)


@pytest.mark.parametrize("kind", cases(TRAINERS))
def test_it_finds_any_trainer_by_itself(kind, capsys):
    trainer = TRAINERS[kind]()
    trainer.add_callback(DiagnoseCallback)
    trainer.train()
    said = capsys.readouterr().out
    assert said.count(f"{type(trainer).__name__}: nothing found") == 1
    assert "Moved by a step: " in said


def test_it_is_given_to_the_constructor(capsys):
    trainer = sft_with(DiagnoseCallback())
    trainer.train()
    assert "SFTTrainer: nothing found" in capsys.readouterr().out


def test_a_plain_trainer_finds_itself_too():
    callback = DiagnoseCallback(quiet=True)
    made = sft()
    trainer = Trainer(
        model=made.model,
        args=TrainingArguments(**training.quiet_config(), use_cpu=True, max_steps=2),
        train_dataset=made.train_dataset,
        data_collator=made.data_collator,
        callbacks=[callback],
    )
    trainer.train()
    assert callback.report.what == "Trainer"
    assert "finite in 2 steps" in callback.report.headline


@pytest.mark.parametrize("is_given", [True, False])
def test_a_run_that_raises_is_reported_before_the_exception_goes_on(is_given, capsys):
    if is_given:
        trainer = sft_with(TrainerCallback(), LosesItsMemory)
        trainer.add_callback(DiagnoseCallback(trainer))
    else:
        trainer = sft_with(DiagnoseCallback(), LosesItsMemory)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        trainer.train()
    assert "The GPU's memory is full." in capsys.readouterr().out


def test_one_callback_reports_the_runs_of_two_trainers_in_turn():
    callback = DiagnoseCallback(quiet=True)
    for num_steps in (3, 2):
        trainer = sft(max_steps=num_steps)
        trainer.add_callback(callback)
        trainer.train()
        assert f"finite in {num_steps} steps" in callback.report.headline


def test_without_a_trainer_it_says_so_and_the_run_goes_on(capsys):
    callback = DiagnoseCallback()
    state, control = TrainerState(), TrainerControl()
    callback.on_train_begin(None, state, control, model=None)
    callback.on_train_end(None, state, control, model=None)
    said = capsys.readouterr().out
    assert said.startswith("DiagnoseCallback did not find the Trainer that calls it")
    assert "trainer.add_callback(DiagnoseCallback(trainer))" in said
    assert not callback.report.is_healthy
    assert callback.report.unseen == {"the run": "it has not begun"}
