"""A program that works on a ticket leaves no process behind, and can read no answer to it."""

import json
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

from course_utils.box.kind import NO_BOX, PACKAGE, Kind, find_kind
from course_utils.files.checkouts import checkouts
from course_utils.files.repository import INSTALLED
from course_utils.oncall import hiding
from course_utils.oncall.sandbox import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
ROOT = PACKAGE.parent
WALLED = pytest.mark.skipif(not find_kind().has_walls, reason="this machine can make no box")
HERE = Kind(NO_BOX, "the group of processes is ended without walls, too")
STARTS = ["sh", "-c", "sleep 601 > /dev/null 2>&1 & echo $!; exec $0", "true"]


def runs(pid: int) -> bool:
    """Whether a process still runs once a kill has had time to arrive."""
    deadline = time.monotonic() + 10
    while (still := _is_at_work(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return still


def _is_at_work(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_a_program_started_ends_with_it(tmp_path):
    ended = run(STARTS, tmp_path, kind=HERE, limit_s=60)
    assert ended.code == 0 and not runs(int(ended.said))


def test_an_interrupted_program_is_ended(tmp_path, monkeypatch):
    def interrupted(process, timeout=None):
        while not (tmp_path / "pid").exists():
            time.sleep(0.02)
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen.communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo $$ > new; mv new pid; sleep 601"], tmp_path, kind=HERE, limit_s=60)
    assert not runs(int((tmp_path / "pid").read_text()))


# --- what it can read ---------------------------------------------------------------------------

ANSWERS = (
    "course_utils/oncall/cases/*.py",
    "course_utils/oncall/*.json",
    "course_utils/exercises/lesson_99/*.py",
    "benchmarks/oncall/*.json",
    "solutions/99*",
)
LONG = 50  # of a line; shorter ones are anybody's
# Lines that also stand elsewhere: an incident is no ticket, though it may have the same fault.
SHARED = ("from ", "import ", "title=", "fix=", "threads=", "fig, ax = ", "NOT_TRAINED")
WALK = """
import json, os, sys
with open("asked.json") as file:
    asked = json.load(file)
found, telling = [], set(asked["telling"])
for place in asked["places"]:
    for folder, inner, names in os.walk(place):
        inner[:] = [name for name in inner if name not in ("site-packages", ".venv")]
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines = {line.strip() for line in file}
            except OSError:
                continue
            found.append([path, sorted(lines & telling)[:3]])
with open("found.json", "w") as file:
    json.dump(found, file)
"""


def telling_lines() -> set[str]:
    """Long lines of cases, fixes, spreads, kept mends and the exam's solutions."""
    texts = (path.read_text() for where in ANSWERS for path in ROOT.glob(where))
    lines = {line.strip() for text in texts for line in text.splitlines() if len(line) >= LONG}
    return {line for line in lines if not line.startswith(SHARED)}


@WALLED
def test_nothing_that_a_program_can_read_holds_a_case_a_fix_a_spread_or_a_kept_mend(tmp_path):
    places = [*checkouts(), INSTALLED, *hiding.answers()]
    asked = {"telling": sorted(telling_lines()), "places": list(map(str, places))}
    assert len(asked["telling"]) > 3000
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    command = [sys.executable, "-c", WALK]
    ended = run(command, tmp_path, kind=find_kind(), limit_s=120)
    assert ended.code == 0, ended.said
    found = json.loads((tmp_path / "found.json").read_text())
    seen = {Path(path) for path, _ in found}
    assert PACKAGE / "explain" / "__init__.py" in seen  # its instruments are there
    assert all(path.is_relative_to(PACKAGE) for path in seen), sorted(seen)[:9]
    assert {path: told for path, told in found if told} == {}


@WALLED
def test_a_program_reads_what_is_hidden_where_that_is_said_and_writes_to_no_checkout(tmp_path):
    kept = ROOT / "benchmarks" / "oncall" / "mends.json"
    tried = ["sh", "-c", f"test -s {kept} && ! touch {ROOT}/new && ! touch {PACKAGE}/new"]
    opened = run(tried, tmp_path, kind=find_kind(), limit_s=20, readable=(kept,))
    assert opened.code == 0, opened.said
    assert run(tried, tmp_path, kind=find_kind(), limit_s=20).code != 0


@WALLED
@pytest.mark.parametrize("network, code", [(False, 1), (True, 0)])
def test_a_program_reaches_the_network_only_where_it_is_given(network, code, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        tries = f"import socket; socket.create_connection({server.getsockname()}, timeout=5)"
        command = [sys.executable, "-c", tries]
        ended = run(command, tmp_path, kind=find_kind(), limit_s=20, network=network)
    assert ended.code == code, ended.said
