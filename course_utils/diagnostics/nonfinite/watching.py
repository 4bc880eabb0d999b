"""Watches a run at next to no cost, and replays the step that fails under full tracing.

Each forward pass is recorded: a copy of its batch, the random number states, a copy of the
buffers, the autocast state, the loss, and the gradient that backward() starts from. Just before
the optimizer steps, the losses and all gradient norms are read in one go, together with the
norms of the weights after the step before. That is the one time a step waits for the device;
the weights are still those of the step, so a bad one can be run again exactly.

Nothing that fails in here reaches the run: it goes on, and the report says what was not seen.
"""

import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import torch
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.nonfinite import crashes
from course_utils.diagnostics.nonfinite.coverage import Coverage
from course_utils.diagnostics.nonfinite.reading import Reader
from course_utils.diagnostics.nonfinite.recording import Recorder, replaced
from course_utils.diagnostics.nonfinite.replay import Pass
from course_utils.diagnostics.nonfinite.report import NonFiniteReport
from course_utils.diagnostics.nonfinite.scaling import Scaling
from course_utils.diagnostics.nonfinite.targets import Target, open_target


def watch(
    target: Any,
    loss_of: Callable[..., Any] | None = None,
    *,
    scaler: Any = None,
    then: Callable[[NonFiniteReport], object] = print,
) -> "Watch":
    """Watch a run; at the first step that is not finite, name the operation that is to blame.

    Args:
        target: a Trainer, or the model that a loop of your own trains. Inside `with`, a model
            that returns its loss is called as always; nothing else changes.
        loss_of: for a loop whose loss the model does not return: the function that gives it.
            Call the watch in its place, with the same arguments.
        scaler: the gradient scaler of such a loop, if it has one. A Trainer's is found.
        then: is called once, with the report of the first fault, or at the end if nothing was
            examined. The run goes on unwatched. What it raises ends the run.

    Raises:
        BadRequest: no model, function or Trainer.
        Unsupported: more than one process.

    Numerics:
        A scaled gradient that overflows is the scaler's business and no fault, unless the
        unscaled gradient is not finite either. A replay calls the loss function once more;
        attributes and closures it changes are put back, files and globals are not.

    >>> model = torch.nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with watch(model, lambda x: model(x).log().sum(), then=lambda report: None) as watched:
    ...     watched(torch.tensor([[float("nan")]])).backward()
    ...     optimizer.step()
    >>> watched.report.phase
    'already in the input'
    """
    opened = open_target(target, loss_of)
    if opened.trainer is not None:
        scaler = opened.trainer.accelerator.scaler
    return Watch(opened, scaler, then, reads_model=loss_of is None and opened.trainer is None)


class Watch:
    """What `watch` gives: entered it watches; called it computes the loss and records the pass."""

    def __init__(
        self,
        target: Target,
        scaler: Any,
        then: Callable[[NonFiniteReport], object],
        *,
        reads_model: bool,
    ):
        self.seen = Coverage(is_trainer=target.trainer is not None)
        self._target, self._scaler, self._then = target, scaler, then
        self._reads_model = reads_model
        self._recorder = Recorder(target, self.seen)
        self._reader = Reader(target, Scaling(scaler), self.seen)
        self._found: NonFiniteReport | None = None
        self._is_busy = False  # the instrument itself runs the model
        self._has_read = False  # the scaler is stepping, and its step has been read

    @property
    def num_steps(self) -> int:
        """Optimizer steps begun."""
        return self.seen.num_steps

    @property
    def report(self) -> NonFiniteReport:
        """The first fault; without one, what was examined and what was not."""
        if self._found is not None:
            return self._found
        verdict = self.seen.verdict()
        return NonFiniteReport(
            found=False, examined=verdict is None, note=self.seen.note(), verdict=verdict
        )

    def __repr__(self) -> str:
        return self.report.text()

    def __call__(self, *args, **kwargs) -> Any:
        """Compute the loss as the watched function does, and record what a replay needs.

        For a model: `watched(batch)` or `watched(**batch)`; it returns what the model returns.
        """
        if not self.seen.is_entered:
            self._say_how_to_enter()
        is_recorded = torch.is_grad_enabled() and self._is_recording and not self._reads_model
        if is_recorded:
            run = self._target.loss_of
            self._guarded("recording a pass", self._recorder.begin, run, args, kwargs)
        output = self._target.loss_of(*args, **kwargs)
        if is_recorded:
            self._guarded("recording a loss", self._recorder.finish, output)
            self._read_long_window()
        return output

    @property
    def _is_recording(self) -> bool:
        return self._found is None and self.seen.is_entered and not self._is_busy

    def _say_how_to_enter(self) -> None:
        how = "nothing is watched: write `with watch(...) as watched:` around the run"
        warnings.warn(how, stacklevel=3)

    def _guarded(self, doing: str, function: Callable[..., Any], *args) -> Any:
        """Run `function`; its errors are noted and go no further."""
        if self._found is not None or self._is_busy:
            return None
        self._is_busy = True
        try:
            return function(*args)
        except Exception as error:
            self.seen.fail(doing, error)
            return None
        finally:
            self._is_busy = False

    def _before_step(self, optimizer: torch.optim.Optimizer, *_args) -> None:
        if not self._has_read:
            self._end(self._guarded("reading a step", self._read_step, optimizer))

    def _read_step(self, optimizer: torch.optim.Optimizer) -> NonFiniteReport | None:
        parameters = self._reader.parameters_of(optimizer)
        passes = self._recorder.take(finished_only=not parameters)
        if parameters:
            self.seen.num_steps += 1
            return self._reader.read(parameters, passes, self._step)
        self.seen.strangers.add(type(optimizer).__name__)
        return self._read_rest(passes) if passes else None

    def _read_rest(self, passes: list[Pass]) -> NonFiniteReport | None:
        """Judge passes after which no optimizer stepped on the watched weights."""
        return self._reader.read(self._reader.trainable(), passes, self._step)

    def _read_long_window(self) -> None:
        if self._recorder.is_full:
            self._end(self._guarded("reading", lambda: self._read_rest(self._recorder.take())))

    def _after_step(self, optimizer: torch.optim.Optimizer, *_args) -> None:
        self._guarded("measuring the weights", self._reader.after_step, optimizer, self._step)

    @property
    def _step(self) -> int:
        trainer = self._target.trainer
        return max(self.num_steps, 1) if trainer is None else trainer.state.global_step + 1

    def _end(self, report: NonFiniteReport | None) -> None:
        if report is None:
            return
        note = " ".join(filter(None, [report.note, self.seen.failed()]))
        self._found = report = replace(report, note=note)
        self._recorder.passes = []
        self._tell(report)

    def _tell(self, report: NonFiniteReport) -> None:
        if self._then is print:
            with suppress(Exception):  # a closed pipe must not end a run
                print(report)
        else:
            self._then(report)

    def __enter__(self) -> "Watch":
        self.seen.is_entered = True
        self._undo = ExitStack()
        self._guarded("looking at the weights", self._reader.enter)
        self._guarded("listening", self._listen)
        return self

    def _listen(self) -> None:
        enter = self._undo.enter_context
        enter(self._reader.clipping.listening())
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        self._undo.callback(before.remove)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._undo.callback(after.remove)
        model = next(iter((*self._target.compiled, *self._target.modules)), None)
        if self._target.trainer is not None:
            enter(replaced(self._target.trainer, "compute_loss", self))
        elif self._reads_model and model is not None:
            enter(self._recorder.reading_model(model, self._guarded))
        elif model is not None:
            enter(self._recorder.counting_calls(model))
        if self._scaler is not None:
            # On an inf the scaler skips the optimizer, and with it the optimizer's hooks.
            enter(replaced(self._scaler, "step", self._reading_first(self._scaler.step)))

    def __exit__(self, _kind, error: BaseException | None, _trace) -> None:
        self._guarded("letting go", self._undo.close)
        if isinstance(error, Exception):
            self._end(self._guarded("explaining the error", self._explain, error))
        self._end(self._guarded("reading the last step", self._read_last))
        unseen = self._guarded("summing up", self._sum_up)
        if unseen is not None and error is None:
            self._tell(unseen)

    def _sum_up(self) -> NonFiniteReport | None:
        """The message at the end of a run that was not fully examined."""
        return self.report if self.report.verdict is not None else None

    def _read_last(self) -> NonFiniteReport | None:
        passes = self._recorder.take()
        return self._read_rest(passes) if passes or self._reader.has_unread else None

    def _explain(self, error: Exception) -> NonFiniteReport | None:
        running = self._recorder.running or next(iter(reversed(self._recorder.passes)), None)
        batch, held = running.batch if running else None, self._reader.around.broken_on_entry
        report = crashes.explain(error, batch, self._target, held)
        number = len(self._recorder.passes) + 1 if self._recorder.running else None
        return report and replace(report, step=self._step, micro_batch=number)

    def _reading_first(self, scaler_step: Callable[..., Any]) -> Callable[..., Any]:
        def step(optimizer: torch.optim.Optimizer, *args, **kwargs) -> Any:
            self._before_step(optimizer)
            self._has_read = True
            try:
                return scaler_step(optimizer, *args, **kwargs)
            finally:
                self._has_read = False

        return step
