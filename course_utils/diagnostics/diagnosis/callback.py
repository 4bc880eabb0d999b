"""`DiagnoseCallback`: rides along with a Trainer's run and reports at its end."""

from functools import wraps
from typing import Any

from course_utils.diagnostics.callbacks import RunCallback
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.ride import Watching
from course_utils.diagnostics.diagnosis.sheet.subject import of_trainer


class DiagnoseCallback(RunCallback):
    """Add it with `trainer.add_callback(DiagnoseCallback(trainer))`; it changes nothing.

    The report is printed when training ends, and before an exception of train() goes on.

    Args:
        trainer: the one it is added to.
        quiet: keep the report in `.report` instead of printing it.
        probe_rewards: as for `diagnose`.
    """

    def __init__(self, trainer: Any, *, quiet: bool = False, probe_rewards: bool = False) -> None:
        subject = of_trainer(trainer)
        subject.probe_rewards = probe_rewards
        self._ride = Watching(subject, then=lambda report: None)
        self._quiet, self._is_in = quiet, False
        self._hear_errors(trainer)

    @property
    def report(self) -> Diagnosis:
        """What is known so far."""
        return self._ride.report

    def on_train_begin(self, args, state, control, **kwargs) -> None:
        if self._is_in:  # an earlier run ended with an error, of which a callback is not told
            self._ride.__exit__(None, None, None)
        self._ride.__enter__()
        self._is_in = True

    def on_train_end(self, args, state, control, **kwargs) -> None:
        if self._is_in:
            self._leave(None)

    def _leave(self, error: BaseException | None) -> None:
        self._is_in = False
        self._ride.__exit__(type(error) if error else None, error, None)
        if not self._quiet and self._ride.subject.args.process_index == 0:
            print(self.report)

    def _hear_errors(self, trainer: Any) -> None:
        """Have this Trainer's own `train` report an exception first: no event tells of one."""
        train = trainer.train

        @wraps(train)
        def telling(*args: Any, **kwargs: Any) -> Any:
            try:
                return train(*args, **kwargs)
            except BaseException as error:
                if self._is_in:
                    self._leave(error)
                raise

        trainer.train = telling
