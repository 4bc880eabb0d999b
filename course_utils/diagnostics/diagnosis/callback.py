"""`DiagnoseCallback`: rides along with a Trainer's run and reports at its end."""

from functools import wraps
from typing import Any

from course_utils.diagnostics.callbacks import RunCallback
from course_utils.diagnostics.diagnosis.calling_trainer import calling_trainer
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.ride import Watching
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import of_trainer

NOT_FOUND = (
    "DiagnoseCallback did not find the Trainer that calls it, and reports nothing; write "
    "trainer.add_callback(DiagnoseCallback(trainer))"
)


class DiagnoseCallback(RunCallback):
    """Give it to any Trainer, `callbacks=[DiagnoseCallback()]`; it changes nothing.

    The report is printed when training ends, by the first process alone. When train() raises, it is
    printed before the exception goes on. A callback that is added later, with
    `trainer.add_callback`, learns of an exception only if it was given the trainer.

    Args:
        trainer: the one it is added to; without it, the callback finds the Trainer that calls it.
        quiet: keep the report in `.report` instead of printing it.
        probe_rewards: as for `diagnose`.
    """

    def __init__(
        self, trainer: Any = None, *, quiet: bool = False, probe_rewards: bool = False
    ) -> None:
        self._ride: Watching | None = None
        self._quiet, self._is_in = quiet, False
        self._probe_rewards = probe_rewards
        self._hears_errors_of: Any = None
        if trainer is not None:
            self._take(trainer)
            self._hear_errors(trainer)

    @property
    def report(self) -> Diagnosis:
        """What is known so far."""
        if self._ride is not None:
            return self._ride.report
        sheet = Sheet()
        sheet.miss("the run", "it has not begun")
        return Diagnosis.of("a run", sheet)

    def on_init_end(self, args, state, control, **kwargs) -> None:
        trainer = calling_trainer(self)
        if trainer is not None:
            self._hear_errors(trainer)

    def on_train_begin(self, args, state, control, **kwargs) -> None:
        trainer = calling_trainer(self)
        known = self._ride.subject.trainer if self._ride is not None else None
        if trainer is not None and trainer is not known:
            self._take(trainer)
        if self._ride is None:
            print(NOT_FOUND)
            return
        if self._is_in:  # an earlier run ended with an error, of which nobody told the callback
            self._leave(None)
        self._ride.__enter__()
        self._is_in = True

    def on_train_end(self, args, state, control, **kwargs) -> None:
        if self._is_in:
            self._leave(None)
            if state.is_world_process_zero and not self._quiet:
                print(f"\n{self.report}")  # below the progress bar

    def _take(self, trainer: Any) -> None:
        subject = of_trainer(trainer)
        subject.probe_rewards = self._probe_rewards
        self._ride = Watching(subject)

    def _leave(self, error: BaseException | None) -> None:
        self._is_in = False
        self._ride.__exit__(type(error) if error else None, error, None)

    def _hear_errors(self, trainer: Any) -> None:
        """Have this Trainer's own `train` report an exception first: no event tells of one."""
        if self._hears_errors_of is trainer:
            return
        self._hears_errors_of = trainer
        train = trainer.train

        @wraps(train)
        def telling(*args: Any, **kwargs: Any) -> Any:
            try:
                return train(*args, **kwargs)
            except BaseException as error:
                if not self._is_in and isinstance(error, Exception):  # before the first step
                    if self._ride is None:
                        self._take(trainer)
                    self._ride.__enter__()
                if self._is_in or isinstance(error, Exception):
                    self._leave(error)
                    if not self._quiet:
                        print(f"\n{self.report}")  # below the progress bar
                raise

        trainer.train = telling
