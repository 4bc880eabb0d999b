"""Runs `explain`, `diagnose` or a training on a ticket whose files are closed; returns the text.

Knows no price; the files stay closed.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from course_utils.box.kind import PACKAGE, find_kind
from course_utils.oncall import folder as folders
from course_utils.oncall import prices, sandbox
from course_utils.oncall.binaries import as_text
from course_utils.oncall.declare import Files
from course_utils.oncall.training import Trainers

MODULE = "course_utils.diagnostics.diagnosed_script"
RIDE = ("env", f"PYTHONPATH={PACKAGE.parent}", sys.executable, "-m", MODULE, "train.py")
LIMIT_S = 600.0


def explain(log: str) -> str:
    """What `course explain` says of the log that was handed out."""
    from course_utils.explain import explain as explained  # 0.2 s, which no other command needs

    return str(explained(log))


def train(files: Files, base: dict[str, bytes]) -> str:
    """The log of these files, trained with the seed of their config.yaml."""
    with Trainers() as trainers:
        trained = trainers.train(files, base, seed=folders.seed_in(files))
    return folders.without_box(trained.console)


def diagnose(files: Files, base: dict[str, bytes]) -> str:
    """What `diagnose` says that rides along with the same training."""
    with tempfile.TemporaryDirectory(prefix="course-diagnose-") as place:
        folder = Path(place)
        of_base = {f"base/{name}": as_text(name, data) for name, data in base.items()}
        folders.write_files(folder, files | of_base)
        return sandbox.run(list(RIDE), folder, kind=find_kind(), limit_s=LIMIT_S).said


ON_FILES: dict[str, Callable[[Files, dict[str, bytes]], str]] = {
    prices.TRAIN: train,
    prices.DIAGNOSE: diagnose,
}
