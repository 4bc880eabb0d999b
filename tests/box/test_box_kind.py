"""Without a box nobody else's notebook is run; and how a box's memory is counted."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from classes import hand_in, notebook
from fake_course import FAKE_GRADER, FIXTURES, cli

from course_utils.box import kind as kinds
from course_utils.box import memory
from course_utils.box.kind import NO_SANDBOX_ENV, OPEN, Kind, find_kind
from course_utils.box.memory import GROUP, LIMITS, SYSTEMD, Counter, counted, own_group
from course_utils.commands import grade
from course_utils.commands.doctor import box_item
from course_utils.files import checkouts
from course_utils.grading import one_submission, worker

lessons_90_and_91, unbuilt, course = FIXTURES
NONE = Kind("none", "bubblewrap is not installed")
SOME = Kind("bubblewrap", "of a test")


@pytest.fixture(autouse=True)
def fake_grader(monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    monkeypatch.setenv(NO_SANDBOX_ENV, "1")  # so that it is taken back afterwards


@pytest.fixture
def kind(monkeypatch):
    """Sets which box this machine seems to have, and tells what graders were told."""

    def be(found):
        monkeypatch.setattr(grade, "find_kind", lambda: found)

    return be


@pytest.fixture
def folder(course, tmp_path):
    hand_in(tmp_path / "class" / "ada" / "n.ipynb", notebook(course))
    return tmp_path / "class"


@pytest.mark.skipif(not find_kind().has_walls, reason="this machine can make no box")
def test_a_checkout_below_what_a_box_binds_is_hidden_and_a_python_in_it_is_not(monkeypatch):
    python = kinds._python()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # of a box's own there is /tmp
        usr = Path(folder) / "usr"
        course, environment = usr / "src" / "course", usr / "src" / "course" / "venv"
        files = [course / "solutions" / "99.py", environment / "python", usr / "bin" / "ls"]
        for path in files:
            path.parent.mkdir(parents=True)
            path.write_text("")
        monkeypatch.setattr(kinds, "SYSTEM", (*kinds.SYSTEM, str(usr)))
        monkeypatch.setattr(kinds, "_python", lambda: [*python, environment])
        monkeypatch.setattr(checkouts, "checkouts", lambda: [course])
        command = [*kinds.walls({}), "find", str(usr), "-type", "f"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert sorted(found.stdout.split()) == sorted(map(str, files[1:])), found.stderr


@pytest.mark.skipif(not find_kind().has_walls, reason="this machine can make no box")
def test_a_course_in_tmp_is_hidden_by_the_scratch_folder_alone():
    code = (
        "import os, sys; from course_utils.box import confine as c\n"
        "c.remember_use(); c.confine(c.Bounds(), walls=True, hidden=tuple(sys.argv[1:]))\n"
        "assert not any(map(os.path.exists, sys.argv[1:]))"
    )
    package = kinds.PACKAGE
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        copy = Path(folder) / "course_utils"
        command = [*kinds.walls({package: package, package / "box": copy / "box"}), sys.executable]
        command += ["-c", code, str(copy / "box")]
        env = kinds.environment(package.parent)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_without_a_box_a_class_is_refused_before_anything_is_run(kind, folder, tmp_path):
    kind(NONE)
    result = cli("grade", folder, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "this machine can make no box" in result.stderr
    assert "bubblewrap is not installed" in result.stderr and "--no-sandbox" in result.stderr
    assert "read your files, change the course, use the network" in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_without_a_box_ones_own_notebooks_are_graded_and_a_copy_elsewhere_is_not(
    kind, course, tmp_path
):
    kind(NONE)
    own = course.student_path("91_other")
    assert cli("grade", own).exit_code == 1
    assert os.environ[NO_SANDBOX_ENV] == "1"
    elsewhere = tmp_path / own.name
    elsewhere.write_bytes(own.read_bytes())
    assert cli("grade", elsewhere).exit_code == 2
    assert cli("grade", own, elsewhere).exit_code == 2
    link = course.notebooks / "99_linked.ipynb"
    link.symlink_to(elsewhere)
    assert cli("grade", link).exit_code == 2


def test_no_sandbox_is_the_instructors_word(kind, folder, tmp_path):
    kind(NONE)
    result = cli("grade", folder, "--out", tmp_path / "out", "--no-sandbox")
    assert result.exit_code == 0 and os.environ[NO_SANDBOX_ENV] == "1"


def test_with_a_box_an_earlier_no_sandbox_does_not_last(kind, folder, tmp_path):
    kind(SOME)
    assert cli("grade", folder, "--out", tmp_path / "out").exit_code == 0
    assert NO_SANDBOX_ENV not in os.environ


def test_a_grader_of_its_own_refuses_too(monkeypatch):
    """On a Dask worker's machine nobody has asked before."""
    monkeypatch.setattr(one_submission, "find_kind", lambda: NONE)
    assert one_submission._kind() == OPEN  # what --no-sandbox has said to it
    monkeypatch.delenv(NO_SANDBOX_ENV)
    with pytest.raises(Exception, match="can make no box"):
        one_submission._kind()


def test_the_doctor_says_which_box_and_who_counts(monkeypatch):
    for name in (LIMITS, GROUP, SYSTEMD):
        monkeypatch.setattr("course_utils.commands.doctor.find_counter", lambda n=name: Counter(n))
        assert Counter(name).saw in box_item(SOME).seen
    assert "course grade" not in box_item(SOME).to_do
    assert box_item(NONE).state == "note" and "others' notebooks" in box_item(NONE).to_do


def test_a_group_of_version_2_is_found_and_nothing_else(tmp_path):
    (tmp_path / "root" / "user" / "me").mkdir(parents=True)
    own = tmp_path / "own"
    for text, found in (
        ("0::/user/me\n", tmp_path / "root" / "user" / "me"),
        ("0::/gone\n", None),
        ("4:memory:/user/me\n0::/\n", None),
    ):
        own.write_text(text)
        assert own_group(tmp_path / "root", own) == found
    assert own_group(tmp_path, tmp_path / "missing") is None


def test_what_is_started_joins_its_group_first_and_the_group_goes(tmp_path):
    """The group is a plain folder here: what the kernel makes of it was not tried."""
    with counted(["sh", "-c", "echo $$"], 512, Counter(GROUP, tmp_path)) as command:
        [group] = tmp_path.iterdir()
        assert (group / "memory.max").read_text() == str(512 * 2**20)
        pid = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert (group / "cgroup.procs").read_text() == pid
        for path in group.iterdir():  # the kernel's own files need no unlinking
            path.unlink()
    assert not list(tmp_path.iterdir())


def test_without_groups_the_command_stays_as_it_is(monkeypatch):
    with counted(["true"], 512, Counter(LIMITS)) as command:
        assert command == ["true"]
    with counted(["true"], 512, Counter(SYSTEMD)) as command:
        assert command[0] == "systemd-run" and command[-2:] == ["--", "true"]
        assert "MemoryMax=512M" in command
    monkeypatch.setattr(memory.shutil, "which", lambda name: None)
    assert not memory._systemd_answers()
