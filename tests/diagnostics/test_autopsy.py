"""A dead child is described from its evidence, and nothing of it is left running."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import psutil
import pytest

from course_utils.diagnostics.processes import children
from course_utils.diagnostics.processes.autopsy import run_in_child, warm_children
from course_utils.diagnostics.processes.traps import SELF_RAISED, divide_integers_by_zero
from course_utils.errors import BadRequest, Unsupported

NEVER_S = 600  # longer than any of these tests may take


def say_then_divide():
    print("step 1: loss 0.69")
    divide_integers_by_zero()


def hang_with_a_grandchild(pid_file):
    grandchild = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({NEVER_S})"])
    Path(pid_file).write_text(f"{os.getpid()} {grandchild.pid}")
    time.sleep(NEVER_S)


def leave_a_grandchild(pid_file):
    grandchild = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({NEVER_S})"])
    Path(pid_file).write_text(str(grandchild.pid))


def alive(pids):
    """Of some process ids, those still running once a kill has had time to arrive."""
    deadline = time.monotonic() + 3
    while (left := [pid for pid in pids if runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def interrupt_once_written(path):
    """Ctrl-C, as the main thread gets it, when the child is seen to be at work."""

    def wait_and_interrupt():
        while not (path.exists() and path.read_text()):
            time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=wait_and_interrupt, daemon=True).start()


@pytest.fixture(params=["cold", "warm"])
def run(request):
    if request.param == "cold":
        yield run_in_child
    else:
        with warm_children() as run:
            yield run


def test_a_native_integer_division_by_zero_is_read_as_sigfpe(run):
    autopsy = run(say_then_divide)
    assert (autopsy.exit_code, autopsy.signal_name) == (-8, "SIGFPE")
    expected = "the child died of SIGFPE (signal 8; return code -8; a shell prints status 136)"
    assert autopsy.headline == expected
    assert autopsy.last_line == "step 1: loss 0.69"
    assert "divide" not in str(autopsy.stack[0]), "the name would give the cause away"
    assert "traps.py" in str(autopsy.stack[0]) and autopsy.fault == "Floating point exception"
    assert "integer division by zero" in autopsy.meaning
    advice = " ".join(autopsy.text().partition("\ncause: ")[2].split())
    assert advice == f"{autopsy.meaning} fix: {autopsy.fix}" and "diagnose_cublas" in autopsy.fix


def test_the_report_says_what_is_not_in_the_log_and_holds_no_folder(run):
    text = run(say_then_divide).text()
    assert "not in the log" in text and "a Python exception, nan or inf, out of memory" in text
    assert "/" not in text and "0x" not in text


def test_a_child_that_raised_the_signal_itself_is_said_to_have():
    script = "import platform; platform.machine = lambda: 'aarch64'; "
    script += "from course_utils.diagnostics.processes.traps import *; divide_integers_by_zero()"
    autopsy = run_in_child([sys.executable, "-c", script])
    assert autopsy.signal_name == "SIGFPE" and SELF_RAISED in autopsy.text()


def test_an_exception_is_named_with_the_line_that_raised_it(run):
    def fail():
        raise ValueError("batch 4 is not divisible by 16")

    autopsy = run(fail)
    assert autopsy.outcome == "ValueError" and autopsy.signal_name is None
    assert autopsy.headline.endswith("ValueError: batch 4 is not divisible by 16")
    assert autopsy.stack[0].function.endswith("fail")


def test_the_callers_own_line_is_named_below_the_library_that_died(run):
    rows = dict(run(say_then_divide).table().rows)
    assert rows["died in"].startswith("traps.py")
    assert rows["called from"].startswith("test_autopsy.py") and "say_then" in rows["called from"]


def test_a_warning_is_not_taken_for_the_last_line_of_the_log(run):
    def warn_and_die():
        print("step 7", file=sys.stderr)
        warnings.warn("old name", FutureWarning, stacklevel=1)
        os.abort()

    assert run(warn_and_die).last_line == "step 7"


def test_a_healthy_child_lived_and_its_output_is_kept(run):
    autopsy = run(print, "done")
    assert (autopsy.outcome, autopsy.stdout) == ("lived", "done\n")
    assert "not in the log" not in autopsy.text()


def test_output_without_a_newline_before_the_crash_is_not_lost(run):
    def half_a_line():
        print("loss", end=" ")
        os.abort()

    assert run(half_a_line).last_line == "loss"


def test_a_stuck_child_is_stopped_with_its_stack_and_its_own_children(run, tmp_path):
    autopsy = run(hang_with_a_grandchild, tmp_path / "pids", timeout_s=1.5)
    assert autopsy.timed_out and autopsy.outcome == "time limit" and autopsy.signal_name is None
    assert autopsy.stack[0].function == "hang_with_a_grandchild"
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2 and alive(pids) == []


def test_a_grandchild_is_not_left_behind_by_a_child_that_lived(run, tmp_path):
    assert run(leave_a_grandchild, tmp_path / "pid").outcome == "lived"
    assert alive([int((tmp_path / "pid").read_text())]) == []


def test_an_interrupted_wait_leaves_nothing_running(tmp_path):
    interrupt_once_written(tmp_path / "pids")
    with pytest.raises(KeyboardInterrupt):
        run_in_child(hang_with_a_grandchild, tmp_path / "pids", timeout_s=NEVER_S)
    child, grandchild = map(int, (tmp_path / "pids").read_text().split())
    assert alive([child, grandchild]) == []


def test_an_interruption_takes_the_warm_parent_and_its_running_child_away(tmp_path):
    interrupt_once_written(tmp_path / "pids")
    with pytest.raises(KeyboardInterrupt), warm_children() as run:
        run(hang_with_a_grandchild, tmp_path / "pids", timeout_s=NEVER_S)
    child, grandchild = map(int, (tmp_path / "pids").read_text().split())
    assert alive([child, grandchild]) == []


KERNEL = """
import sys
from course_utils.diagnostics import run_in_child, warm_children
from test_autopsy import hang_with_a_grandchild as hang
if sys.argv[2] == "cold":
    run_in_child(hang, sys.argv[1], timeout_s=600)
else:
    with warm_children() as run:
        run(hang, sys.argv[1], timeout_s=600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
@pytest.mark.parametrize("kind", ["cold", "warm"])
def test_a_child_does_not_outlive_a_kernel_that_was_killed(kind, tmp_path):
    pids = tmp_path / "pids"
    here = {"PYTHONPATH": str(Path(__file__).parent), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", KERNEL, str(pids), kind]
    with subprocess.Popen(command, env={**os.environ, **here}) as kernel:
        while kernel.poll() is None and not (pids.exists() and pids.read_text()):
            time.sleep(0.02)
        kernel.kill()
    child, grandchild = map(int, pids.read_text().split())
    os.kill(grandchild, signal.SIGKILL)  # only the child itself can be bound to the kernel
    assert alive([child]) == []


def test_the_time_limit_does_not_count_what_is_preloaded(monkeypatch, tmp_path):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(3)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def job():
        importlib.import_module("slow_to_import")

    assert run_in_child(job, preload=["slow_to_import"], timeout_s=2).outcome == "lived"


def test_a_command_has_no_preload():
    with pytest.raises(BadRequest, match="preload"):
        run_in_child([sys.executable, "-c", ""], preload=["json"])


def test_a_function_of_a_notebook_brings_the_globals_it_names():
    source = "FACTOR = 6\nunused = open('/dev/null')\ndef train(x):\n    print(FACTOR * x)\n"
    script = f"import sys\n{source}\nfrom course_utils.diagnostics import run_in_child\n"
    script += "print('child said', run_in_child(train, 7).stdout)"
    assert run_in_child([sys.executable, "-W", "error", "-c", script]).last_line == "child said 42"


def test_a_function_of_a_notebook_may_name_a_module_that_is_not_installed(monkeypatch, tmp_path):
    (tmp_path / "own_module.py").write_text(
        "import threading\nlock, answer = threading.Lock(), 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    notebook = {"__name__": "__main__", "own": importlib.import_module("own_module")}
    exec("def tell():\n    print(own.answer)", notebook)
    assert run_in_child(notebook["tell"]).last_line == "42"


def test_what_a_function_needs_is_imported_once_in_the_warm_parent():
    def modules_loaded():
        print("colorsys" in sys.modules, "wave" in sys.modules)

    with warm_children(preload=["wave"]) as run:
        assert run(modules_loaded).stdout == "False True\n"


def test_where_fork_is_missing_a_warm_call_is_a_cold_one(monkeypatch):
    monkeypatch.setattr(children, "CAN_FORK", False)
    with warm_children() as run:
        assert run(say_then_divide).signal_name == "SIGFPE"


def test_a_script_gets_its_arguments_and_the_environment(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os, sys\nprint(sys.argv[1], os.environ['COLOUR'])\nsys.exit(3)")
    autopsy = run_in_child(script, "--lr=1", env={"COLOUR": "blue"})
    assert (autopsy.last_line, autopsy.exit_code) == ("--lr=1 blue", 3)
    assert autopsy.headline == "the child ended with exit code 3"


def test_impossible_requests_are_refused_with_a_way_out(tmp_path):
    generator = (x for x in ())
    with pytest.raises(BadRequest, match="cannot be sent"):
        run_in_child(list, generator)
    with pytest.raises(BadRequest, match="no script"):
        run_in_child(tmp_path / "absent.py")
    with pytest.raises(BadRequest, match=r"\['python', 'train.py', '--lr=1'\]"):
        run_in_child("python train.py --lr=1")
    with pytest.raises(BadRequest, match="train, not train"):
        run_in_child(None)
    with pytest.raises(Unsupported, match="ModuleNotFoundError"), warm_children(preload=["nope"]):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_child_that_was_killed_is_told():
    def fill_and_die():
        block = bytearray(300 * 2**20)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
        print(block)

    autopsy = run_in_child(fill_and_die)
    assert autopsy.signal_name == "SIGKILL" and autopsy.peak_memory > 300 * 2**20
    assert "peak memory" in dict(autopsy.table().rows) and "dmesg" in autopsy.fix


def test_a_process_in_a_session_of_its_own_is_not_left_behind(tmp_path):
    def leave_a_session():
        idle = [sys.executable, "-c", f"import time; time.sleep({NEVER_S})"]
        left = subprocess.Popen(idle, start_new_session=True)
        (tmp_path / "pid").write_text(str(left.pid))

    assert run_in_child(leave_a_session).outcome == "lived"
    assert alive([int((tmp_path / "pid").read_text())]) == []


@pytest.mark.parametrize("preload", [(), ("wave",)], ids=["cold", "warm"])
def test_a_folder_that_a_dead_child_could_not_remove_is_gone(preload):
    def leave_a_folder():
        print(tempfile.mkdtemp(), flush=True)
        os.abort()

    said = run_in_child(leave_a_folder, preload=preload).stdout
    assert said and not Path(said.strip()).exists()


def test_the_dictionary_form_is_json_ready():
    found = run_in_child(say_then_divide).to_dict()
    assert found["signal_name"] == "SIGFPE" and found["stack"][0]["file"] == "traps.py"
