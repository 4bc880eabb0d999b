"""Restores a model or a Trainer, bit for bit, after it was used for an experiment.

Weights, buffers, gradients, what is trainable, modes, optimizer, schedule, counters, callbacks,
settings, random numbers. A data set that is a stream cannot be put back, and is refused before.
"""

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.pytorch import HOOKS
from course_utils.diagnostics.nonfinite.state import Surroundings, set_gradients_aside
from course_utils.diagnostics.nonfinite.untouched import untouched


@contextmanager
def put_back(subject: Subject) -> Iterator[None]:
    """In the block, the model may train; afterwards nothing of the subject has changed.

    Holds a second copy of all weights, and of the optimizer's state if there is one, meanwhile.
    """
    modules = subject.target.modules
    parameters = list({id(p): p for root in modules for p in root.parameters()}.values())
    with ExitStack() as stack:
        around = Surroundings.now(modules)
        stack.callback(around.put_back)
        stack.enter_context(_same_hooks(modules))
        stack.enter_context(_same_weights(parameters))
        stack.enter_context(set_gradients_aside(parameters))
        stack.enter_context(untouched(*_owners(subject)))
        stack.enter_context(subject.target.undisturbed())
        for holder in (subject.optimizer, getattr(subject.trainer, "lr_scheduler", None)):
            if holder is not None:
                stack.enter_context(_same_state(holder))
        stack.enter_context(_as_copies(subject.trainer, ("state", "control", "args")))
        yield


def _owners(subject: Subject) -> list[Any]:
    """The objects of a Trainer that keep counts."""
    trainer = subject.trainer
    if trainer is None:
        return [subject.loss_of] if subject.loss_of else []
    accelerator = trainer.accelerator
    owners = [trainer.callback_handler, accelerator, accelerator.gradient_state]
    owners += [accelerator.state, trainer.data_collator, trainer.train_dataset, trainer.optimizer]
    owners += [trainer.lr_scheduler, *getattr(trainer, "reward_funcs", ())]
    return [owner for owner in owners if owner is not None]


@contextmanager
def _as_copies(trainer: Any, names: tuple[str, ...]) -> Iterator[None]:
    """Give the Trainer copies of these; holders of the originals see no change."""
    originals = {name: getattr(trainer, name) for name in names if hasattr(trainer, name)}
    try:
        for name, value in originals.items():
            setattr(trainer, name, copy.deepcopy(value) if name != "args" else copy.copy(value))
        yield
    finally:
        for name, value in originals.items():
            setattr(trainer, name, value)


@contextmanager
def _same_hooks(modules: list[nn.Module]) -> Iterator[None]:
    """Restore hooks: training with checkpointing leaves one on the embedding."""
    flat = {id(module): module for root in modules for module in root.modules()}.values()
    held = [vars(module)[name] for module in flat for name in HOOKS]
    before = [dict(hooks) for hooks in held]
    try:
        yield
    finally:
        for hooks, were in zip(held, before, strict=True):
            hooks.clear()
            hooks.update(were)


@contextmanager
def _same_weights(parameters: list[Tensor]) -> Iterator[None]:
    values = [p.detach().clone() for p in parameters]
    trains = [p.requires_grad for p in parameters]
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, before, is_trained in zip(parameters, values, trains, strict=True):
                parameter.copy_(before)
                parameter.requires_grad_(is_trained)


@contextmanager
def _same_state(holder: Any) -> Iterator[None]:
    """Copy an optimizer's or schedule's state_dict, and load it again afterwards."""
    before = copy.deepcopy(holder.state_dict())
    try:
        yield
    finally:
        holder.load_state_dict(before)


class _Quiet:
    """Replaces a Trainer's callbacks: logs every step, never saves or evaluates."""

    @staticmethod
    def make(num_steps: int) -> Any:
        from transformers import TrainerCallback  # takes seconds; whoever has a Trainer has it

        class StopAfter(TrainerCallback):
            taken = 0  # its own count: a resumed run's begins at the checkpoint's

            def on_step_end(self, args, state, control, **kwargs):
                self.taken += 1
                control.should_log = True
                control.should_save = control.should_evaluate = False
                control.should_training_stop |= self.taken >= num_steps

            def on_epoch_end(self, args, state, control, **kwargs):
                control.should_save = control.should_evaluate = False

        return StopAfter()


def train_some(trainer: Any, num_steps: int, also: tuple = ()) -> list[dict]:
    """Train `num_steps` of a Trainer inside `put_back`, saving nothing; returns its log."""
    from transformers.trainer_callback import DefaultFlowCallback

    trainer.callback_handler.callbacks = [
        DefaultFlowCallback(),
        *also,
        _Quiet.make(num_steps),
    ]
    trainer.args.load_best_model_at_end = trainer.args.push_to_hub = False
    if hasattr(trainer, "log_completions"):
        trainer.log_completions = False
    trainer.train()
    return list(trainer.state.log_history)
