"""No answer gains a point, touches a file, starts a process or ends the grader.

`make test` takes one attack of each aim; `make prove` all, with a table of what came of each.
"""

import hashlib
import inspect
import os
import socket

import psutil
import pytest
from attacks import answers, deeper, inside, odd
from attacks.answers import HONEST
from whole import IS_WHOLE, cases
from written import source_of

from course_utils.box.kind import PACKAGE, find_kind
from course_utils.exercises import find_exercise, find_lesson
from course_utils.grading.judge.client import Box
from course_utils.grading.judge.judging_mode import BELIEVED, MUST_RUN_INSIDE
from course_utils.grading.judge.source_review import reaches_for
from course_utils.notebook.execute import Limits
from tests.answers import right_answers, wrong_answers

pytestmark = pytest.mark.skipif(
    not find_kind().has_walls, reason=f"no box can be made here: {find_kind().saw}"
)
LIMITS = Limits(cell_s=4, notebook_s=60)
ATTACKS = [
    pytest.param(attack, id=f"{aim}: {attack.name}")
    for module in (answers, deeper)
    for aim, attacks in module.BY_AIM.items()
    for attack in attacks
]
ROWS: list[tuple[str, str, str]] = []  # attack, verdict, what was touched outside
BEFORE = "from course_utils.concepts import lesson_00 as concepts\n"
BEFORE += 'from course_utils.lesson import TODO, start\n\nex = start("00")'


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
    return score(box, source)["outcome"]


def score(box, source: str, above=(), below=()) -> dict:
    """The score of an answer, between cells of the student's own."""
    cells = [
        {"source": BEFORE, "role": "lesson", "exercise": ""},
        *({"source": one, "role": "", "exercise": ""} for one in above),
        {"source": source, "role": "answer", "exercise": "00.1"},
        *({"source": one, "role": "", "exercise": ""} for one in below),
        {"source": "ex.MEAN.check(mean_of)", "role": "check", "exercise": "00.1"},
    ]
    [told] = box.scores(cells, ["00.1"], LIMITS)
    return told


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


@pytest.mark.parametrize("attack", cases(ATTACKS, lambda case: case.id.partition(":")[0]))
def test_an_attack_gains_nothing_and_touches_nothing(box, canary, port, attack):
    source = attack.source.replace("{canary}", str(canary)).replace("{port}", str(port))
    before = outside(canary)
    verdict = outcome(box, source)
    touched = [str(now) for was, now in zip(before, outside(canary), strict=True) if was != now]
    ROWS.append((attack.name, verdict, ", ".join(touched) or "nothing"))
    assert verdict in ("wrong", "raised", "not attempted", "not graded")
    assert not touched


def test_the_box_still_grades_after_all_attacks(box):
    assert outcome(box, HONEST.source) == "passed"


@pytest.mark.parametrize("name", odd.ALL)
def test_an_honest_answer_gets_the_verdict_and_the_words_it_must_have(box, name):
    above, source, below, wanted, said = odd.ALL[name]
    told = score(box, source, above, below)
    assert told["outcome"] == wanted, told
    assert said in " ".join(told["details"]) and "(first" not in " ".join(told["details"])


def test_what_a_student_prints_reaches_no_file_that_others_share(box):
    before = os.fstat(box._judge._log.fileno()).st_size
    source = f"for n in range(200):\n    print('x' * 1000)\n{odd.WRONG}"
    assert outcome(box, source) == "wrong"
    assert os.fstat(box._judge._log.fileno()).st_size == before


@pytest.mark.parametrize("name", inside.ALL)
def test_an_answer_that_is_judged_inside_and_reaches_out_is_not_run(name):
    found = reaches_for([f"{inside.KEEP}\n{inside.ALL[name]}"])
    ROWS.append((f"inside: {name}", "not run" if found else "RUN", "nothing"))
    assert found


@pytest.mark.parametrize("name", inside.HONEST)
def test_an_honest_answer_that_is_judged_inside_passes_the_review(name):
    assert reaches_for([inside.HONEST[name]]) == ""


# Listed as wrong, and refused when graded: both make one model out of another's `__dict__`.
REACHING = ("becomes_a_copy", "shares_everything")


@pytest.mark.parametrize("number", [*MUST_RUN_INSIDE, *BELIEVED])
def test_no_answer_that_is_judged_inside_reaches_out(number):
    """None of those that people give is refused; of the inside ones, few wrong ones."""
    for variant in find_exercise(number).variants:
        wrong = wrong_answers(variant) if number in MUST_RUN_INSIDE else ()
        given = (*right_answers(variant), *(one.answer for one in wrong))
        parts = [p for one in given for p in (one.values() if isinstance(one, dict) else (one,))]
        for function in (part for part in parts if hasattr(part, "__qualname__")):
            module = inspect.getmodule(function)
            source = source_of(getattr(module, function.__qualname__.partition(".")[0]))
            texts = [f"{n} = {v!r}" for n, v in vars(module).items() if n.isupper()]
            found = reaches_for([*(text for text in texts if "<" not in text), source])
            assert bool(found) == (function.__name__ in REACHING), found


def test_the_table_of_attacks(capsys):
    """Runs last: prints what the tests above saw."""
    if not IS_WHOLE:
        pytest.skip("printed when all attacks are tried")
    rows = "\n".join(f"{name:52} {verdict:14} {touched}" for name, verdict, touched in ROWS)
    with capsys.disabled():
        print(f"\n{len(ROWS)} attacks, their verdict, and what was touched outside:\n{rows}")
    assert len(ROWS) >= 60
