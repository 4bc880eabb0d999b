"""The wrapper around a test run names and removes whatever a command leaves, however it ends."""

import os
import signal
import subprocess
import sys

import psutil
import pytest
from course_command import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="makes a process by a double fork")

WRAPPED = [sys.executable, "-m", "tests.prove.nothing_left", sys.executable, "-c"]
# Leaves a folder and a process that is nobody's child, in a session of its own.
LEAVES = """
import os, sys, tempfile, time
folder = tempfile.mkdtemp(prefix="left-behind-")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
print(folder, flush=True)
"""
WAITS = LEAVES + "time.sleep(600)"


def started(code: str) -> subprocess.Popen:
    """The wrapper around a program; it waits 1 s, as what is left here never ends by itself."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = os.environ | {"NOTHING_LEFT_WAIT_S": "1"}
    return subprocess.Popen([*WRAPPED, code], cwd=ROOT, text=True, env=env, **streams)


def is_clean(folder: str) -> bool:
    """Whether the command's temporary folder is gone, and no process has it any more."""
    parent = os.path.dirname(folder)
    theirs = [p for p in psutil.process_iter(["environ"]) if parent in str(p.info["environ"])]
    return not os.path.exists(parent) and not theirs


def test_a_command_that_leaves_something_has_failed_and_what_it_leaves_is_removed():
    with started(LEAVES) as process:
        said, complained = process.communicate()
    assert process.returncode == 1 and "succeeded, but left" in complained
    assert "left process: " in complained and "time.sleep(600)" in complained
    assert "left in the temporary folder: left-behind-* (1 times)" in complained
    assert is_clean(said.strip())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_an_interrupted_command_leaves_is_removed_too(number):
    with started(WAITS) as process:
        folder = process.stdout.readline().strip()
        process.send_signal(number)
        _, complained = process.communicate()
    assert process.returncode == 128 + number and is_clean(folder)
    assert "left-behind-*" in complained and "succeeded" not in complained


@pytest.mark.parametrize("status", [0, 3])
def test_a_clean_command_keeps_its_status_and_nothing_is_said(status):
    with started(f"import sys; print('done'); sys.exit({status})") as process:
        assert process.communicate() == ("done\n", "")
    assert process.returncode == status
