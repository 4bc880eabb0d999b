"""No answer gains a point, touches a file, starts a process or ends the grader."""

import hashlib
import os
import socket

import psutil
import pytest
from attacks.answers import ALL, HONEST

from course_utils.exercises import find_lesson
from course_utils.grading.box.kind import PACKAGE, find_kind
from course_utils.grading.judge.ask import Box
from course_utils.notebook.execute import Limits

pytestmark = pytest.mark.skipif(
    not find_kind().has_walls, reason=f"no box can be made here: {find_kind().saw}"
)
LIMITS = Limits(cell_s=4, notebook_s=60)
BEFORE = 'from course_utils.lesson import TODO, start\n\nex = start("00")'


@pytest.fixture(scope="module")
def box():
    lesson = find_lesson("00")
    os.environ["GRADER_SECRET"] = "secret"
    with Box("00", {e.name: e.reads for e in lesson.exercises}, find_kind()) as warm:
        yield warm
    del os.environ["GRADER_SECRET"]


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def canary(tmp_path):
    (tmp_path / "secret").write_text("secret")
    return tmp_path


def outcome(box, source: str) -> str:
    cells = [
        {"source": BEFORE, "role": "lesson", "exercise": ""},
        {"source": source, "role": "answer", "exercise": "00.1"},
        {"source": "ex.MEAN.check(mean_of)", "role": "check", "exercise": "00.1"},
    ]
    [score] = box.scores(cells, ["00.1"], LIMITS)
    return score["outcome"]


def outside(folder) -> tuple:
    """What an attack could have changed: files, the library, processes that it started."""
    files = sorted(path.name for path in folder.iterdir())
    library = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        library.update(path.read_bytes())
    sleeping = [p for p in psutil.process_iter(["cmdline"]) if "987" in (p.info["cmdline"] or [])]
    return files, library.hexdigest(), sleeping


def test_the_answer_that_attacks_are_made_of_is_right(box):
    assert outcome(box, HONEST.source) == "passed"


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing_and_touches_nothing(box, canary, port, attack):
    source = attack.source.replace("{canary}", str(canary)).replace("{port}", str(port))
    before = outside(canary)
    assert outcome(box, source) in ("wrong", "raised", "not attempted", "not graded")
    assert outside(canary) == before


def test_the_box_still_grades_after_all_attacks(box):
    assert outcome(box, HONEST.source) == "passed"
