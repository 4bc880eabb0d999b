"""Records the forward passes of a step, as far as a replay needs them.

Waits for no device and keeps what one step keeps: whoever reads the passes drops them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from course_utils.diagnostics.hooks import Hook
from course_utils.diagnostics.nonfinite.coverage import Coverage
from course_utils.diagnostics.nonfinite.replay import Pass
from course_utils.diagnostics.nonfinite.targets import Target, loss_in

MAX_PASSES = 64  # kept without an optimizer step; a longer window is read in parts


class Recorder:
    """The passes since the last reading, and the one that is running."""

    def __init__(self, target: Target, seen: Coverage):
        self.passes: list[Pass] = []
        self.running: Pass | None = None  # still set when the forward pass has raised
        self._target, self._seen = target, seen

    def begin(self, run: Callable[..., Any], args: tuple, kwargs: dict) -> None:
        self.running = None
        self.running = Pass.begin(run, args, kwargs, self._target)

    def finish(self, output: Any) -> None:
        one, self.running = self.running, None
        loss = loss_in(output)
        if loss is None:
            self._seen.num_without_loss += 1
        elif loss.grad_fn is None:
            self._seen.num_cut += 1
        elif one is not None:
            one.loss = loss.detach().clone()  # `loss /= n` changes the original
            loss.register_hook(lambda seed: setattr(one, "seed", seed))
            self.passes.append(one)
            self._seen.num_losses += 1

    def take(self, *, finished_only: bool = False) -> list[Pass]:
        """Remove and return the passes, or only those that backward() ran on."""
        taken = [one for one in self.passes if one.seed is not None or not finished_only]
        self.passes = [one for one in self.passes if one.seed is None and finished_only]
        return taken

    @property
    def is_full(self) -> bool:
        return len(self.passes) >= MAX_PASSES

    @contextmanager
    def reading_model(self, model: nn.Module, guarded: Callable[..., Any]) -> Iterator[None]:
        """In the block, every call of the model in training is a pass."""

        def before(_model: nn.Module, args: tuple, kwargs: dict) -> None:
            if torch.is_grad_enabled() and not torch.compiler.is_compiling():
                guarded("recording a pass", self.begin, model, args, kwargs)

        def after(_model: nn.Module, _args: tuple, _kwargs: dict, output: Any) -> None:
            if torch.is_grad_enabled() and not torch.compiler.is_compiling():
                guarded("recording a loss", self.finish, output)

        handles = [
            model.register_forward_pre_hook(Hook(before), with_kwargs=True),
            model.register_forward_hook(Hook(after), with_kwargs=True),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def counting_calls(self, model: nn.Module) -> Iterator[None]:
        """In the block, calls of the model outside a watched loss function are counted."""

        def count(_model: nn.Module, _args: tuple) -> None:
            if torch.is_grad_enabled() and self.running is None:
                self._seen.num_unrecorded += 1

        handle = model.register_forward_pre_hook(Hook(count))
        try:
            yield
        finally:
            handle.remove()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """In the block, this one object has another method."""
    had, previous = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, previous)
        else:
            delattr(owner, name)
