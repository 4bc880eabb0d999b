"""Runs pytest in a fork of this process, which has imported the libraries once.

The fork sees the course of another folder: our own modules are never imported before it.
"""

import contextlib
import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = (
    *("torch", "transformers.trainer", "trl", "peft", "datasets"),
    *("IPython", "nbformat", "jupyter_client", "requests", "rich.console"),
)
OURS = ("course_utils", "tests")
TEST_LIMIT_S = 120  # for one test; on a busy machine the longest of these takes half of it
IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"  # anyio has a plugin, and came with these
OPTIONS = ("-x", "-q", "-pno:cacheprovider", "-n0", f"--timeout={TEST_LIMIT_S}", "-W", IMPORTED)


class NotJudged(Exception):
    """The run was not ended by a test, so it says nothing about the tests."""


def import_libraries() -> None:
    """Import what takes seconds, as quietly as the tests do, and forget our own modules."""
    importlib.import_module("course_utils.shown.quiet").quiet_libraries()
    for name in LIBRARIES:
        importlib.import_module(name)
    _forget_our_modules()
    gc.freeze()  # or each fork goes through all of it when it ends


def first_failure(root: Path, arguments: list[str], *, is_whole: bool, limit_s: float) -> str:
    """The id of the first test under `root` that fails, or of a file that fails to import, or "".

    Raises:
        NotJudged: no test ended in time, or pytest itself failed.
    """
    beside = Path(tempfile.mkdtemp(dir=root.parent))
    if (pid := os.fork()) == 0:
        try:
            _run_pytest(root, beside, [*OPTIONS, *arguments], is_whole)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(pytest.ExitCode.INTERNAL_ERROR)
    try:
        code, failed = _ended(pid, limit_s), beside / "failed"
        if failed.exists():
            return failed.read_text()
        if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ""
        last = (beside / "output").read_text(errors="replace")[-2000:]
        raise NotJudged(f"pytest {' '.join(arguments)} ended with {code}:\n{last}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(beside, ignore_errors=True)


def _ended(pid: int, limit_s: float) -> int | None:
    """The exit code of a child, or None if it had to be ended."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _run_pytest(root: Path, beside: Path, arguments: list[str], is_whole: bool) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    output = os.open(beside / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1), os.dup2(output, 2)
    sys.stdout = sys.stderr = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    _forget_our_modules()
    os.chdir(root)
    sys.path[:] = [str(root), *(path for path in sys.path if path not in ("", str(ROOT)))]
    os.environ.update(PYTHONPATH=str(root), TMPDIR=str(beside), PROVE="1" if is_whole else "")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the next run takes our compiled modules
    tempfile.tempdir, sys.dont_write_bytecode = None, False
    code = pytest.main(arguments, plugins=[_FirstFailure(beside / "failed")])
    os._exit(code)


def _forget_our_modules() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.meta_path[:] = [x for x in sys.meta_path if type(x).__module__ not in OURS]
    importlib.invalidate_caches()


class _FirstFailure:
    """A plugin of pytest that writes the id of the first failure into a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport
