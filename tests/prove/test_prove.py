"""The record says that a proof holds until a source that it read changes, and then no longer."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prove import __main__ as prove
from tests.prove.record import Proof, Record
from tests.prove.sources import ROOT, Sources
from tests.prove.units import Unit, units

READS = """\
import json, pathlib, subprocess, sys
names = [path.name for path in pathlib.Path("course_utils/room").glob("*.json")]
subprocess.run([sys.executable, "-c", "import course_utils.room.code"], check=True)
"""
REACHED = (
    *("course_utils/__init__.py", "course_utils/room/", "course_utils/room/__init__.py"),
    *("course_utils/room/code.py", "course_utils/room/data.json"),
)


@pytest.fixture
def root(tmp_path):
    """A repository of one room, and a module that nothing reads."""
    root = tmp_path / "repository"
    for name in (*REACHED, "course_utils/other.py"):
        if not name.endswith("/"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("1\n")
    (root / ".gitignore").write_text("__pycache__/\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def reached_by(root: Path, source: str) -> tuple[str, ...]:
    """What a process with this source reaches, its child included."""
    trace = root.parent / "trace"
    env = {
        "PYTHONPATH": f"{prove.TRACED}:{root}",
        "PROVE_ROOT": f"{root}",
        "PROVE_TRACE": f"{trace}",
    }
    subprocess.run([sys.executable, "-c", source], cwd=root, env=env, check=True)
    return tuple(Sources(root).reached(trace.read_text()))


@pytest.fixture
def proof(root):
    reached = reached_by(root, READS)
    return Proof(reached, Sources(root).digest(reached), 3, 0, 1, 2.5, "2026-11-23, AVX2")


def record_in(root: Path, part: str = "1/1") -> Record:
    return Record(Sources(root), part, whole=root.parent / "whole.json", parts=root.parent)


def test_a_process_reaches_what_it_and_its_children_read(root):
    for _ in range(2):  # the second time Python reads compiled modules
        assert reached_by(root, READS) == REACHED


def test_a_name_that_is_no_text_is_read_as_without_a_trace(root):
    source = "import os\nif not os.path.exists(b'\\xff'):\n"
    source += "  try: os.open(b'\\xff', os.O_RDONLY)\n  except FileNotFoundError: open('x.txt')"
    (root / "x.txt").touch()
    assert "x.txt" in reached_by(root, source)


def test_a_line_of_a_trace_that_is_cut_off_is_left_out(root):
    whole = f"file {root}/course_utils/other.py"
    for cut in ("", "fi", "file", "file ", f"file {root}"[:-3]):
        assert "course_utils/other.py" in Sources(root).reached(f"{cut}\n{whole}\n{cut}")


def test_an_error_in_one_proof_ends_them_all_and_is_told(root, monkeypatch):
    begun = []

    def run(unit, running):
        begun.append(unit.name)
        time.sleep(0.02)
        raise ValueError("of ours")

    monkeypatch.setattr(prove, "run", run)
    missing = [Unit("kind", f"proof {number}", ("true",)) for number in range(50)]
    with pytest.raises(ValueError, match="of ours"):
        prove.run_all(missing, record_in(root), jobs=1)
    assert len(begun) < 50


def test_a_proof_holds_until_what_it_read_changes(root, proof):
    record_in(root).add("a test", proof)
    assert record_in(root).holds("a test")
    (root / "course_utils/other.py").write_text("2\n")
    assert record_in(root).holds("a test")
    (root / "course_utils/room/code.py").write_text("2\n")
    assert not record_in(root).holds("a test")


def test_a_new_file_in_a_folder_that_was_listed_undoes_a_proof(root, proof):
    record_in(root).add("a test", proof)
    (root / "course_utils/room/more.json").write_text("1\n")
    assert not record_in(root).holds("a test")


def test_what_failed_does_not_hold(root, proof):
    record_in(root).add("a test", replace(proof, failed=1))
    assert not record_in(root).holds("a test")


def test_the_parts_of_a_record_are_read_together(root, proof):
    record_in(root, "1/2").add("one", proof)
    record_in(root, "2/2").add("two", proof)
    whole = record_in(root)
    assert whole.holds("one") and whole.holds("two")
    whole.write_whole(["one"])
    assert list(record_in(root).usual_s) == ["one"]
    assert record_in(root).proofs["one"] == proof


def test_parts_hold_every_proof_once():
    parts = prove.equal_parts(units(), {}, 8)
    names = [unit.name for part in parts for unit in part]
    assert sorted(names) == sorted(unit.name for unit in units())
    assert len(set(names)) == len(names)


def test_every_test_file_and_every_lesson_is_proved():
    said = " ".join(" ".join(unit.command) for unit in units())
    for path in (*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("solutions/*.ipynb")):
        assert str(path.relative_to(ROOT)) in said


@pytest.mark.parametrize("asked", ["0/8", "9/8", "3", "x/y"])
def test_a_part_that_is_none_is_refused(asked, capsys):
    with pytest.raises(SystemExit) as refused:
        sys.argv = ["prove", "--part", asked]
        prove.main()
    assert refused.value.code == 2
    assert "a part is K/N" in capsys.readouterr().err


def test_a_proof_that_was_run_says_what_it_read_and_how_it_ended():
    source = "import course_utils.errors"
    good = prove.run(Unit("kind", "a name", (sys.executable, "-c", source)), set())
    assert (good.passed, good.failed) == (1, 0)
    assert "course_utils/errors.py" in good.reached
    bad = prove.run(Unit("kind", "a name", (sys.executable, "-c", "raise SystemExit(3)")), set())
    assert (bad.passed, bad.failed) == (0, 1)


def test_ctrl_c_keeps_what_was_proved_and_ends_what_runs(root):
    wait = "import time; print('begun', flush=True); time.sleep(600)"
    source = f"""
import sys
from pathlib import Path
from tests.prove import __main__ as prove
from tests.prove.record import Record
from tests.prove.sources import Sources
from tests.prove.units import Unit
record = Record(Sources(), whole=Path({str(root / "w")!r}), parts=Path({str(root / "p")!r}))
short = Unit("kind", "short", (sys.executable, "-c", ""))
long = Unit("kind", "long", (sys.executable, "-c", {wait!r}))
sys.exit(prove.run_all([short, long], record, 1))
"""
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert "short" in process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert "Stopped" in process.stdout.read()
    assert process.returncode == 130
    kept = Record(Sources(), whole=root / "w", parts=root / "p")
    assert list(kept.proofs) == ["short"]
