"""Runs a training script with `diagnose` riding along, and prints the report.

python -m course_utils.diagnostics.diagnosed_script SCRIPT

For a script that cannot be changed. Where it has no Trainer, `diagnose` reads the model that the
script has saved.
"""

import contextlib
import io
import os
import runpy
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.shown.quiet import quiet_libraries

MODEL, STATE = Path("run", "model"), "trainer_state.json"


def ride(script: str):
    """The report on a run of `script` in this folder, or None where nothing could be seen."""
    import transformers

    from course_utils.diagnostics import diagnose

    reports = []
    train = transformers.Trainer.train

    def watched(self, *args, **settings):
        with diagnose.watching(self, then=reports.append, probe_rewards=True):
            return train(self, *args, **settings)

    transformers.Trainer.train = watched
    try:
        with contextlib.suppress(BaseException):  # what ended it stands in the report
            sys.path.insert(0, os.getcwd())
            runpy.run_path(script, run_name="__main__")
    finally:
        transformers.Trainer.train = train
    if not reports:
        with contextlib.suppress(OSError):  # a folder that a Trainer saves has its log in it
            shutil.copy2(MODEL.parent / STATE, MODEL / STATE)
        with contextlib.suppress(CourseError):
            reports.append(diagnose(MODEL))
    return reports[0] if reports else None


def main(arguments: Sequence[str]) -> None:
    quiet_libraries()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        report = ride(*arguments)
    print(report or "the run left nothing that diagnose could look at")


if __name__ == "__main__":
    main(sys.argv[1:])
