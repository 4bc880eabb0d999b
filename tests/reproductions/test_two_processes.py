"""Two joined processes end together, and leave no folder."""

import os
import signal
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from course_utils.reproductions.two_processes import in_two_processes


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_process_leaves_in_the_temporary_folder_is_gone(scratch):
    found = in_two_processes(lambda rank: [{"folder": tempfile.mkdtemp()}], 60)
    assert len(found) == 2 and not list(scratch.iterdir())


def test_both_are_ended_when_their_parent_is_interrupted(scratch):
    def train(rank: int) -> list[dict]:
        if rank == 0:
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)

    # Another test's warm process may wait here for the next one: only what is new counts.
    before = set(psutil.Process().children())
    with pytest.raises(KeyboardInterrupt):
        in_two_processes(train, 60)
    assert set(psutil.Process().children()) <= before and not list(scratch.iterdir())
