"""`DiagnoseCallback`: rides along with a Trainer's run and reports at its end."""

from typing import Any

from course_utils.diagnostics.callbacks import RunCallback
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.ride import Watching
from course_utils.diagnostics.diagnosis.sheet.subject import of_trainer


class DiagnoseCallback(RunCallback):
    """Add it with `trainer.add_callback(DiagnoseCallback(trainer))`; it changes nothing.

    Args:
        trainer: the one it is added to.
        quiet: keep the report in `.report` instead of printing it when training ends.
    """

    def __init__(self, trainer: Any, *, quiet: bool = False) -> None:
        self._ride = Watching(of_trainer(trainer))
        self._quiet, self._is_in = quiet, False

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
            self._is_in = False
            self._ride.__exit__(None, None, None)
            if not self._quiet:
                print(self.report)
