"""Runs the course's own jobs on behalf of a box, which may not start a process itself.

The job is the course's. Of a student come only its settings, each with a value that the job
declares, so there are few different runs; each is made once while the judge is warm.
"""

import hashlib
import json
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from course_utils.diagnostics.processes.children import Ending, WarmParent
from course_utils.files.saving import write_atomically
from course_utils.reproductions.lesson_02.unseen_02 import Job

MAX_SEED, MAX_RUNS = 100, 100


class Jobs:
    """Tells a box how a job of the course ends, and nothing else. A context manager.

    Raises, when asked:
        ValueError: settings that the job has not, or too many questions.
    """

    def __init__(self, job: Job) -> None:
        self._job, self._num_asked = job, 0
        self._stack, self._parent = ExitStack(), None

    def __enter__(self) -> "Jobs":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, settings: object, seed: object = 0) -> dict:
        """The ending of one run, as plain data."""
        self._num_asked += 1
        if self._num_asked > MAX_RUNS or type(seed) is not int or not 0 <= seed <= MAX_SEED:
            raise ValueError(f"a run with seed {seed!r:.50}, the {self._num_asked}th that is asked")
        if not self._has(settings):
            raise ValueError("the job has no such settings")
        path = self._path(settings, seed)
        if not path.exists():
            write_atomically(path, json.dumps(asdict(self._run(settings, seed))))
        return json.loads(path.read_text())

    def _has(self, settings: object) -> bool:
        job = self._job
        values = {name: (job.works[name], job.fails[name]) for name in job.works} | job.options
        return (
            type(settings) is dict
            and set(job.works) <= set(settings) <= set(values)
            and all(
                any(type(value) is type(known) and value == known for known in values[name])
                for name, value in settings.items()
            )
        )

    def _path(self, settings: dict, seed: int) -> Path:
        text = json.dumps([self._job.train.__name__, sorted(settings.items()), seed])
        folder = Path(tempfile.gettempdir()) / "jobs"
        folder.mkdir(exist_ok=True)
        return folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"

    def _run(self, settings: dict, seed: int) -> Ending:
        if self._parent is None:
            parent = WarmParent(preload=self._job.preload, env=None)
            self._parent = self._stack.enter_context(parent)
        run, limit_s = self._job.run, self._job.timeout_s
        return self._parent.run(run, (settings, seed), timeout_s=limit_s)
