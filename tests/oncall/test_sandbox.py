"""A program that works on a ticket leaves no process behind."""

import sys
import time

import psutil
import pytest

from course_utils.box.kind import NO_BOX, Kind
from course_utils.oncall.sandbox import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
HERE = Kind(NO_BOX, "the group of processes is ended without walls, too")
STARTS = ["sh", "-c", "sleep 601 > /dev/null 2>&1 & echo $!; exec $0", "true"]


def runs(pid: int) -> bool:
    """Whether a process still runs once a kill has had time to arrive."""
    deadline = time.monotonic() + 10
    while (still := _is_at_work(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return still


def _is_at_work(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_a_program_started_ends_with_it(tmp_path):
    ended = run(STARTS, tmp_path, kind=HERE, limit_s=60)
    assert ended.code == 0 and not runs(int(ended.said))


def test_an_interrupted_program_is_ended(tmp_path, monkeypatch):
    def interrupted(process, timeout=None):
        while not (tmp_path / "pid").exists():
            time.sleep(0.02)
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen.communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo $$ > new; mv new pid; sleep 601"], tmp_path, kind=HERE, limit_s=60)
    assert not runs(int((tmp_path / "pid").read_text()))
