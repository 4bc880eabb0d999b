"""`course doctor` says what is wrong with a machine, and what to do about it."""

import importlib.metadata
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.version import Version

from course_utils.commands import doctor, pins
from course_utils.commands.doctor import NOTE, OK, PROBLEM
from course_utils.commands.group import course
from course_utils.diagnostics.processes.cublas import CublasEnvironment, diagnose_cublas


def test_this_machine_can_run_the_course():
    result = CliRunner().invoke(course, ["doctor"])
    assert result.exit_code == 0, result.output
    assert "float16" in result.stdout and PROBLEM not in result.stdout


def test_a_problem_ends_with_1_and_says_what_to_do(monkeypatch):
    monkeypatch.setattr(doctor, "MIN_MEMORY_GIB", 1e6)
    result = CliRunner().invoke(course, ["doctor"])
    assert result.exit_code == 1
    [line] = [line for line in result.stdout.splitlines() if PROBLEM in line]
    assert "free memory" in line and line.endswith("close other programs")


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("3.10.14", PROBLEM),
        ("3.11.0", OK),
        ("3.13.9", OK),
        ("3.14.0", PROBLEM),
    ],
)
def test_a_python_outside_the_range_is_a_problem(version, state):
    assert doctor.python_item(Version(version)).state == state


def test_the_first_python_is_the_packages_own():
    declared = importlib.metadata.metadata("brokenruns")["Requires-Python"]
    assert declared == f">={doctor.PYTHONS[0]}"


@pytest.fixture
def needs_anything(monkeypatch):
    monkeypatch.setattr(pins, "needed_packages", lambda wanted: EveryName())


class EveryName:
    def __contains__(self, name):
        return True


def test_a_package_that_differs_from_the_lock_is_named_with_the_command(needs_anything):
    item = doctor.packages_item("click==0.1\nno-such-package==2\npytest==9.9.9\n# a comment\n")
    assert item.state == PROBLEM and "not 0.1" in item.seen
    assert "no-such-package is missing, not 2" in item.seen
    command = "-m pip install --constraint requirements.lock 'brokenruns[lab]'"
    assert item.to_do == f"{sys.executable} {command}"


def test_packages_of_the_tests_and_the_site_are_no_concern_of_a_reader():
    assert doctor.packages_item("pytest==0.1\nsphinx==0.1").state == OK
    needed = pins.needed_packages(pins.COURSE)
    assert {"brokenruns", "torch", "jinja2", "jupyterlab", "tornado"} <= needed
    assert needed.isdisjoint({"pytest", "ruff", "playwright", "sphinx", "distributed", "coverage"})


def test_what_a_missing_package_needs_is_not_known():
    assert pins.needed_packages("no-such-package[extra]") == {"no-such-package"}


def test_a_build_suffix_is_the_same_version(monkeypatch):
    class Torch:
        name, version = "Torch", "2.13.0+cpu"

    monkeypatch.setattr(pins.importlib.metadata, "distributions", lambda: [Torch])
    assert doctor.packages_item("torch==2.13.0").state == OK
    assert doctor.packages_item("torch==2.13.1").state == PROBLEM


def test_many_differences_are_counted(needs_anything):
    lock = "\n".join(f"absent-{number}==1" for number in range(7))
    assert doctor.packages_item(lock).seen.endswith(" and 3 more")


@pytest.mark.parametrize(
    ("gpus", "state"),
    [
        (("NVIDIA H20",), PROBLEM),
        (("NVIDIA H100",), NOTE),
        ((), OK),
    ],
)
def test_the_fault_of_cublas_is_told_with_what_to_install(gpus, state):
    environment = CublasEnvironment("2.5.1+cu121", "12.1", wheel="12.1.3.1", gpus=gpus)
    item = doctor.cublas_item(diagnose_cublas(environment))
    assert item.state == state
    assert ("nvidia-cublas-cu12" in item.to_do) == (state != OK)


def test_formats_are_tried_and_not_looked_up():
    import torch

    [row] = [row for row in doctor.computing_formats("cpu").rows if row[0] == "float16"]
    assert row[1:3] == ("yes", "yes")
    small = torch.full((2, 2), 0.5)
    assert doctor._tried(lambda x: x * 1.01, small, 0.5) == "WRONG by 1.0%"
    assert doctor._tried(lambda x: x.double(), small, 0.5) == "no, it gives float64"
    assert doctor._tried(torch.exp, small.to(torch.float8_e5m2), 1.6) == "no"


def test_the_lock_pins_every_line():
    lock = Path(doctor.__file__).parents[2] / "requirements.lock"
    assert all("==" in line for line in lock.read_text().splitlines())
