"""A program buys looks at a ticket that it cannot open; each is counted, its edits are judged."""

import json
import subprocess
import sys

import pytest

from course_utils.box.kind import NO_BOX, Kind, find_kind
from course_utils.oncall import budget, folder, prices, report
from course_utils.oncall.bench import running, stored
from course_utils.oncall.desk import SCRIPT, SOCKET, Desk
from course_utils.oncall.sandbox import run
from course_utils.oncall.training import Trained

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs sockets with a path")
LOG = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.001}\n" * 3
TICKET = folder.ticket_of(8, 2)


class Trainers:
    """Trains nothing, and leaves a log."""

    kind = Kind(NO_BOX, "of a test")

    def train(self, files, base, *, seed):
        return Trained(0, LOG, {"run/adapter/weights.bin": b"1"})


@pytest.fixture
def places(tmp_path):
    kept = tmp_path / "kept"
    folder.write(kept, TICKET, Trainers())
    return kept, tmp_path / "ticket"


def look(where, thing):
    command = [sys.executable, SCRIPT, thing]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=60).stdout


def names_in(where):
    return {path.relative_to(where).as_posix() for path in where.rglob("*") if path.is_file()}


def test_a_program_gets_what_it_has_paid_for_and_no_more(places):
    kept, where = places
    handed = folder.handed_out(TICKET)[1]
    with Desk(kept, where, 6) as desk:
        assert names_in(where) == {folder.TICKET, report.NAME, SCRIPT}
        letter = (where / folder.TICKET).read_text()
        assert f"`python {SCRIPT} THING`" in letter and "course oncall look" not in letter
        said = look(where, "./config.yaml")
        assert "looks: 3 of 6 (config.yaml)" in said and str(kept) not in said
        assert (where / "config.yaml").read_text() == handed["config.yaml"]
        assert "looks: 4 of 6" in look(where, "run/adapter")
        assert (where / "run" / "adapter" / "weights.bin").read_bytes() == b"1"
        assert "costs 3, and 2 of 6 looks are left" in look(where, "train.py")
        assert "there is no '../kept/.oncall.json'" in look(where, f"../kept/{folder.KEPT}")
        assert "grad_norm" in look(where, prices.EXPLAIN)
        assert desk.spent == 5
    assert not (where / budget.CLOSED).exists() and desk.spent == 5


def test_what_a_program_changed_is_what_is_judged(places):
    kept, where = places
    with Desk(kept, where, 6):
        look(where, "config.yaml")
        (where / "config.yaml").write_text("seed: 1\n")
        (where / "losses_here.py").write_text("X = 1\n")
        (where / report.NAME).write_text("faults: []\n")
    handed = folder.handed_out(TICKET)[1]
    files = budget.closed_files(kept, handed) | folder.run_files(kept, handed)
    assert files == handed | {"config.yaml": "seed: 1\n", "losses_here.py": "X = 1\n"}
    assert (kept / report.NAME).read_text() == "faults: []\n"
    (where / "config.yaml").unlink()
    Desk.take(desk_of(kept, where))
    assert not (kept / "config.yaml").exists()


def desk_of(kept, where):
    desk = Desk.__new__(Desk)
    desk._kept, desk._folder, desk._handed = kept, where, folder.handed_out(TICKET)[1]
    return desk


@pytest.mark.skipif(not find_kind().has_walls, reason="this machine can make no box")
def test_behind_walls_a_look_is_all_that_a_program_can_have(places):
    kept, where = places
    opens = f"{sys.executable} {SCRIPT} config.yaml && test -s config.yaml"
    hidden = f"! cat {kept / budget.CLOSED} && ! cat {kept / 'config.yaml'}"
    with Desk(kept, where, 6) as desk:
        command = ["sh", "-c", f"{opens} && {hidden}"]
        ended = run(command, where, kind=find_kind(), limit_s=60, hidden=(kept,))
    assert ended.code == 0 and desk.spent == 3, ended.said


def test_a_bench_with_a_budget_counts_the_looks_of_each_ticket(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "check", lambda where, *_, **__: Checked(where))
    command = (sys.executable, SCRIPT, budget.LOG)
    protocol = stored.Protocol(command, (1,), 1, 60.0, False, "a" * 12, budget=6)
    [found] = running.scores(protocol, 5, tmp_path / "out", Trainers())
    assert found.looks == 1 and found.ended == "code 0"
    [again] = running.scores(protocol, 5, tmp_path / "out", Trainers())
    assert again == found
    assert json.loads((tmp_path / "out" / stored.PROTOCOL).read_text())["budget"] == 6


class Checked:
    """An outcome of nothing; the folder that is judged is the closed one."""

    reported = report.Judged(1)

    def __init__(self, where):
        assert (where / budget.CLOSED).is_file() and not (where / SOCKET).exists()

    def to_dict(self):
        told = {"fixed": False, "places": 0, "classes": 0, "faults": 1, "solved": False}
        return told | {"problems": []}
