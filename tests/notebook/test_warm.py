"""What is forked from a warm process is as a process of its own, and ends with whoever asked."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from course_utils.notebook.warm import CAN_WARM, warm_process

pytestmark = pytest.mark.skipif(not CAN_WARM, reason="a warm process needs Linux")
WAIT_S = 60  # far more than is needed

SAYS = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ["ASKED"])
print("colorsys" in sys.modules, "beside" in sys.modules, sys.stdin.read())
print("complained", file=sys.stderr)
sys.exit(3)
"""
WAITS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
try:
    print(child.pid, flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    child.kill()
    sys.exit(5)
"""


@pytest.fixture
def warm():
    with warm_process(["colorsys"]) as warm:
        yield warm


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Starts a module with this source, in a folder and an environment of its own."""
    monkeypatch.chdir(tmp_path)

    def start(warm, source: str, *arguments: str) -> subprocess.Popen:
        (tmp_path / "asked.py").write_text(source)
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "beside.py").touch()
        (tmp_path / "there" / "sitecustomize.py").write_text("import beside")
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        env = os.environ | {"ASKED": "so", "PYTHONPATH": str(tmp_path / "there")}
        return subprocess.Popen(warm.command("asked", *arguments), env=env, text=True, **streams)

    return start


def test_a_fork_has_its_own_folder_environment_arguments_streams_and_exit_code(
    warm, asked, tmp_path
):
    with asked(warm, SAYS, "one", "two") as process:
        said, complained = process.communicate("heard")
    assert said == f"['one', 'two'] {tmp_path} so\nTrue True heard\n"
    assert complained == "complained\n"
    assert process.returncode == 3


def test_a_fork_that_a_signal_ends_ends_so_for_whoever_asked(warm, asked):
    with asked(warm, "import os; os.abort()") as process:
        process.communicate()
    assert process.returncode == -signal.SIGABRT


def test_a_signal_is_passed_on(warm, asked):
    with asked(warm, WAITS) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 5


def test_a_fork_and_what_it_started_end_when_who_asked_is_killed(warm, asked):
    with asked(warm, WAITS) as process:
        child = psutil.Process(int(process.stdout.readline()))
        both = [child, child.parent()]
        process.kill()
    assert not psutil.wait_procs(both, timeout=WAIT_S)[1]


def test_without_its_warm_process_a_module_runs_in_a_process_of_its_own(asked):
    others = psutil.Process().children()  # a box that another test of this worker keeps, for one
    with warm_process(["colorsys"]) as warm:
        started = set(psutil.Process().children()) - set(others)
    assert started and not psutil.wait_procs(started, timeout=WAIT_S)[1]
    with asked(warm, SAYS, "one") as process:
        said, _ = process.communicate("heard")
    assert process.returncode == 3 and "so\nFalse True heard" in said


def test_a_warm_process_ends_with_whoever_keeps_it(tmp_path):
    keeps = "from course_utils.notebook.warm import warm_process\nimport psutil, time\n"
    keeps += "with warm_process(['json']):\n"
    keeps += "    print(*(p.pid for p in psutil.Process().children()), flush=True)\n"
    keeps += "    time.sleep(600)"
    env = os.environ | {"TMPDIR": str(tmp_path)}  # it is killed
    with subprocess.Popen([sys.executable, "-c", keeps], env=env, stdout=subprocess.PIPE) as keeper:
        warm = [psutil.Process(int(pid)) for pid in keeper.stdout.readline().split()]
        keeper.kill()
    assert len(warm) == 1 and not psutil.wait_procs(warm, timeout=WAIT_S)[1]
