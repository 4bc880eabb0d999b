"""What was seen on each Python: the sources compile, `explain` answers, and its tests pass.

torch is not installed for them here, so the instruments are seen on the Python of the course alone.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course_utils.diagnostics.processes.children import run_process
from course_utils.reproductions.eras.environment import python_in
from tests.stacks.beside import ROOT, pip

VERSIONS = ("3.11", "3.12", "3.13")
LIMIT_S = 900.0
COMPILE = """\
import pathlib, course_utils
for path in pathlib.Path(course_utils.__file__).parent.rglob("*.py"):
    compile(path.read_bytes(), path, "exec")
"""
EXPLAIN = ("-W", "error", "-m", "course_utils.explain", "139")
ANSWER = "signal 11"
TESTS = ROOT / "tests" / "explain"
NEEDS_TORCH = "test_every_cause_names_a_lesson_and_an_instrument_that_exist"
NOT_SEEN = "not seen here"


@dataclass(frozen=True)
class Seen:
    """What one Python did, each in words; "not seen here" where there is no such Python."""

    python: str
    compiles: str = NOT_SEEN
    explains: str = NOT_SEEN
    tests: str = NOT_SEEN

    @property
    def holds(self) -> bool:
        return "no" not in (self.compiles, self.explains) and "failed" not in self.tests


def look_at(version: str, wheel: Path) -> Seen:
    """Install the wheel, and pytest, into a fresh environment of this Python, and look."""
    found = interpreter(version)
    if found is None:
        return Seen(version)
    with tempfile.TemporaryDirectory(prefix="python-") as folder:
        subprocess.run([found, "-m", "venv", "--without-pip", folder], check=True)
        python = python_in(Path(folder))
        pip(python, "install", "--quiet", "--no-compile", str(wheel))
        compiled = _run(python, "-W", "error", "-c", COMPILE)
        explained = _run(python, *EXPLAIN)
        pip(python, "install", "--quiet", "--no-compile", "pytest")
        return Seen(
            python=_run(python, "-c", "import platform; print(platform.python_version())")[1],
            compiles="no" if compiled[0] else "yes",
            explains="yes" if ANSWER in explained[1] else "no",
            tests=_tests(python),
        )


def interpreter(version: str) -> str | None:
    """A Python of this version: on PATH, or one that pyenv built."""
    built = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    named = [sys.executable, shutil.which(f"python{version}"), *map(str, sorted(built))]
    ask = ("-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    return next((one for one in named if one and _run(one, *ask) == (0, version)), None)


def _tests(python: Path) -> str:
    """How many tests of `explain` passed there; one more needs torch."""
    options = ("--noconftest", "-p", "no:cacheprovider", "-c", "/dev/null", "-W", "error")
    left = ("-k", f"not {NEEDS_TORCH}")
    said = _run(python, "-m", "pytest", "-q", *options, *left, str(TESTS))[1]
    return ", ".join(re.findall(r"\d+ (?:passed|failed|errors?)", said.splitlines()[-1]))


def _run(python: str | Path, *arguments: str) -> tuple[int, str]:
    """The exit code and the output; of these sources only what tests share is on the path."""
    env = {"PYTHONPATH": str(ROOT / "tests" / "helpers"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run_process([str(python), *arguments], timeout_s=LIMIT_S, env=env)
    return done.exit_code, done.stdout.strip()
