"""A reader's train.py gains nothing, touches nothing, and harms no later submission.

`make test` takes one attack that reaches out and one that lies, `make prove` all.
"""

import socket
from textwrap import indent

import psutil
import pytest
from attacks import tickets
from whole import cases

from course_utils.box.kind import PACKAGE, find_kind
from course_utils.exercises import find_lesson
from course_utils.grading.judge.client import Box
from course_utils.notebook.execute import Limits
from course_utils.oncall.attacks import CALL

pytestmark = [
    pytest.mark.skipif(
        not find_kind().has_walls, reason=f"no box can be made here: {find_kind().saw}"
    ),
    pytest.mark.timeout(900),
]
LESSON = find_lesson("99")
FIRST = LESSON.exercises[0]
SLOW, FAST = Limits(cell_s=120, notebook_s=600), Limits(cell_s=120, notebook_s=5)
WHEN_REACHED = """\
reached = False
try:
{attack}
except BaseException:
    pass
if reached:
    main()
"""
SOURCES = tickets.HOPING | {
    name: WHEN_REACHED.format(attack=indent(source, "    "))
    for name, source in tickets.REACHING.items()
}


@pytest.fixture(scope="module")
def box():
    with Box("99", {e.name: e.reads for e in LESSON.exercises}, find_kind()) as warm:
        yield warm


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def scores(box, answer, limits=SLOW):
    cells = [
        {"source": f"answer_1 = {answer!r}", "role": "answer", "exercise": "99.1"},
        {"source": "ex.FIRST.check(answer_1)", "role": "check", "exercise": "99.1"},
    ]
    return [told["outcome"] for told in box.scores(cells, ["99.1"], limits)]


def attacked(source: str) -> dict:
    """A right answer, if only the run trained."""
    mend = FIRST.answer["edits"]
    return FIRST.answer | {"edits": [*mend, ("train.py", CALL, source)]}


def outside(folder) -> tuple:
    """What an attack could have changed: files, the course's numbers, processes it started."""
    sleeping = [p for p in psutil.process_iter(["cmdline"]) if "987" in (p.info["cmdline"] or [])]
    return sorted(folder.iterdir()), (PACKAGE / "oncall" / "spread.json").read_bytes(), sleeping


@pytest.mark.parametrize("name", cases(SOURCES, lambda name: name in tickets.REACHING))
def test_a_train_py_gains_nothing_and_touches_nothing(box, port, tmp_path, name):
    places = {"{canary}": str(tmp_path), "{package}": str(PACKAGE), "{port}": str(port)}
    source = SOURCES[name]
    for mark, value in places.items():
        source = source.replace(mark, value)
    before = outside(tmp_path)
    assert scores(box, attacked(source)) == ["wrong"]
    assert outside(tmp_path) == before


def test_after_one_that_never_ends_the_next_submission_is_graded(box):
    """The first is stopped when the time of its notebook is over, in the midst of its training."""
    assert scores(box, attacked(tickets.ENDLESS), FAST) == []
    reached = WHEN_REACHED.format(attack="    reached = True")
    assert scores(box, attacked(reached)) == ["passed"]
