"""The standard library alone: `course explain` answers, every other command says what it lacks."""

import os
import subprocess
import sys

import pytest
from course_command import ROOT
from pasted_logs import Pasted

from course_utils.commands import COMMANDS, NEED_LAB

# -S: Python without site-packages.
SCRIPT = ("-S", "-c", "from course_utils.commands import main; main()")
OTHERS = [name for name in COMMANDS if name != "explain"]
STARTS = {"course": (*SCRIPT, "explain"), "module": ("-S", "-m", "course_utils.explain")}


def alone(*arguments: str, paste: str = "") -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=paste, text=True, capture_output=True, env=environment)


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_explain_needs_the_standard_library_alone(start):
    found = alone(*start, "--json", paste=Pasted("ms-swift-5571", None).text)
    assert found.returncode == 0 and '"key": "no_gradient"' in found.stdout, found.stderr
    assert "signal 9" in alone(*start, "-9").stdout
    missing = alone(*start, "nothing.log")
    assert missing.returncode == 2 and missing.stderr.startswith("there is no file 'nothing.log'")
    assert "usage: course explain" in alone(*start, "--help").stdout


@pytest.mark.parametrize("name", [*OTHERS, "--help"])
def test_a_command_without_its_packages_says_in_one_sentence_what_to_install(name):
    done = alone(*SCRIPT, name)
    extra = "lab" if name in NEED_LAB else "course"
    assert done.returncode == 2 and done.stdout == ""
    first, *_, last = done.stderr.splitlines()
    assert first == f"`course {name}` needs the package click, which is not installed here"
    assert last == f"  fix: pip install 'brokenruns[{extra}]'"


def test_a_reader_that_stops_early_is_no_error():
    shell = f"{sys.executable} -S -m course_utils.explain 137 | true; exit ${{PIPESTATUS[0]}}"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=environment)
    assert done.returncode in (0, 1) and done.stderr == ""
