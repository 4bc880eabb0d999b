"""The wheel alone, in an empty folder: the lessons are in it and run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from course_command import ROOT

pytestmark = pytest.mark.timeout(600)

# The parts of the environment that would lead back to this checkout.
OURS = ("PYTHONPATH", "COURSE_ROOT", "COURSE_PROGRESS", "VIRTUAL_ENV")
CLEAN = {name: value for name, value in os.environ.items() if name not in OURS}


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=CLEAN, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The `course` command of an environment that holds the wheel and borrows the packages."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    ignored = shutil.ignore_patterns(".git", ".venv", "runs", "build", "*.egg-info")
    source = shutil.copytree(ROOT, folder / "source", ignore=ignored)  # building leaves traces
    built = run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, source, cwd=folder)
    if built.returncode and "setuptools" in built.stderr:
        pytest.skip("no package index answers, and the wheel needs setuptools to be built")
    assert built.returncode == 0, built.stderr
    [wheel] = folder.glob("*.whl")
    home = folder / "env"
    assert run(sys.executable, "-m", "venv", "--without-pip", home, cwd=folder).returncode == 0
    [site] = home.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    site.joinpath("borrowed.pth").write_text("\n".join(borrowed))
    own_pip = (home / "bin" / "python", "-m", "pip", "--quiet")
    done = run(*own_pip, "install", "--no-deps", "--ignore-installed", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return home / "bin" / "course"


def test_a_lesson_runs_from_the_wheel_in_an_empty_folder(installed, tmp_path):
    done = run(installed, "run", "00", "--solutions", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 points" in done.stdout
    assert (tmp_path / "runs" / "001" / "00_start_here.ipynb").exists()


def test_the_lessons_are_copied_once_and_never_over_work(installed, tmp_path):
    assert run(installed, "start", "mine", cwd=tmp_path).returncode == 0
    assert (tmp_path / "mine" / "notebooks" / "06_grad_fn.ipynb").exists()
    again = run(installed, "start", "mine", cwd=tmp_path)
    assert again.returncode == 2 and "not be overwritten" in again.stderr
    status = run(installed, "status", cwd=tmp_path / "mine")
    assert status.returncode == 0 and "00.1" in status.stdout
