"""A real scheduler and two real workers, one killed midway: the grades are the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from importlib.util import find_spec

import pytest
from classes import GRADE, address_in, hand_in, notebook, random_class
from fake_course import FAKE_GRADER, FIXTURES, ROOT, cli

from course_utils.box.kind import NO_SANDBOX_ENV
from course_utils.grading import worker

lessons_90_and_91, unbuilt, course = FIXTURES
WAIT_S = 60

needs_dask = pytest.mark.skipif(
    not find_spec("distributed"),
    reason="the package distributed is not installed: pip install 'brokenruns[scale]'",
)
# Its threads and sockets are closed a while after the client that had them.
pytestmark = [needs_dask, pytest.mark.filterwarnings("ignore:.*")]


@pytest.fixture(scope="module")
def running():
    """The cluster of this module: what the first test starts, and the last one ends."""
    kept = {}
    yield kept
    for process in kept.get("processes", ()):
        process.kill()
        process.wait()


@pytest.fixture
def cluster(running, course, tmp_path, monkeypatch):
    """The scheduler's address and the processes: scheduler, and three workers."""
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(NO_SANDBOX_ENV, "1")  # so that it is taken back afterwards
    path = f"{os.environ['PYTHONPATH']}{os.pathsep}{ROOT / 'tests' / 'helpers'}"
    monkeypatch.setenv("PYTHONPATH", path)
    if not running:
        running |= _started(tmp_path)
    return running["address"], running["processes"]


def _started(folder) -> dict:
    known, command = folder / "scheduler.json", [sys.executable, "-m", "dask"]
    node = [*command, "worker", "--scheduler-file", str(known), "--no-nanny", "--no-dashboard"]
    node += ["--nthreads", "1", "--preload", "fake_on_dask", "--local-directory", str(folder)]
    ports = ["--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
    scheduler = [*command, "scheduler", *ports, "--scheduler-file", str(known)]
    with (folder / "log").open("w") as log:
        start = {"cwd": folder, "stdout": log, "stderr": log, "env": dict(os.environ)}
        commands = (scheduler, node, node, node)
        processes = [subprocess.Popen(one, **start) for one in commands]
    try:
        return {"address": address_in(known), "processes": processes}
    except BaseException:
        for process in processes:
            process.kill()
        raise


def test_a_worker_that_is_killed_in_the_middle_costs_no_result(
    course, tmp_path, cluster, monkeypatch
):
    address, (_, victim, *_) = cluster
    random_class(tmp_path / "class", partial(notebook, course), size=14, seed=2)
    for number in range(10):
        data = notebook(course, added="# SLOW")
        hand_in(tmp_path / "class" / f"slow{number}" / "n.ipynb", data)
    killed = []

    def kill_one(_process_id=None):
        victim.send_signal(signal.SIGKILL)
        killed.append(num_results())

    def num_results() -> int:  # not what is being written
        return len(list((tmp_path / "dask").glob("results/*.json")))

    watcher = _when(lambda: num_results() > 8, kill_one)
    result = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "dask", "--dask", address)
    watcher.join()
    assert result.exit_code in (2, 3), result.output
    assert killed and 8 < killed[0] < 24
    monkeypatch.setenv("SLOW_S", "0")  # only what is stopped must take a while
    cli(*GRADE, tmp_path / "class", "--out", tmp_path / "here", "--jobs", 2)
    dask, here = ((tmp_path / out / "grades.csv").read_text() for out in ("dask", "here"))
    assert dask == here


def _when(is_time, act):
    def watch():
        deadline = time.monotonic() + WAIT_S
        while not is_time() and time.monotonic() < deadline:
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_cluster_that_ends_leaves_what_was_finished(course, tmp_path, cluster, monkeypatch):
    address, (scheduler, *workers) = cluster
    for number in range(8):
        data = notebook(course, added="# SLOW")
        hand_in(tmp_path / "class" / f"s{number}" / "n.ipynb", data)
    results = tmp_path / "out" / "results"

    def end():
        for process in (scheduler, *workers):
            process.kill()

    watcher = _when(lambda: any(results.glob("*.json")), end)
    result = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "out", "--dask", address)
    watcher.join()
    assert result.exit_code == 3, result.output
    monkeypatch.setenv("SLOW_S", "0")
    again = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "out")
    assert again.exit_code == 0 and "Total: 32 of 32 points" in again.stdout


def test_an_address_where_nobody_answers_is_said(course, tmp_path, monkeypatch):
    monkeypatch.setattr("course_utils.grading.on_dask.CONNECT_S", 1)
    hand_in(tmp_path / "class" / "s" / "n.ipynb", notebook(course))
    result = cli(*GRADE, tmp_path / "class", "--dask", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in result.stderr
