"""The right answers on the stuck and the unseen jobs of lesson 02 follow from its instruments.

About 15 s of CPU, and as long again of waiting for children that hang.
"""

import re
from pathlib import Path

import pytest

from course_utils.diagnostics import run_in_child, warm_children
from course_utils.exercises.lesson_02.hang import BEST, WAITS_AT
from course_utils.exercises.lesson_02.unseen import HANG, SIGBUS, UNSEEN

LESSON = Path(__file__).parents[2] / "solutions" / "02_grpo_sigfpe.py"
LIMIT_S, STUCK_S = 8.0, 4.0  # a run in a warm child lives, or is stuck, within half a second

each_job = pytest.mark.parametrize("truth", [SIGBUS, HANG], ids=lambda truth: truth.ended)


def changed(configuration, other, names):
    """`configuration` with the settings called `names` as in `other`."""
    return configuration | {name: other[name] for name in names}


@pytest.fixture(scope="module")
def in_child():
    """Calls a function in a child; both jobs import the same."""
    with warm_children(preload=HANG.ticket.preload) as call:
        yield call


@each_job
def test_a_job_ends_as_said_of_its_two_settings_together_and_of_neither_alone(truth, in_child):
    job = truth.ticket

    def ended(settings, limit_s=LIMIT_S):
        return in_child(job.run, settings, timeout_s=limit_s)

    assert ended(job.works).outcome == "lived"
    both = ended(changed(job.works, job.fails, truth.settings), STUCK_S)
    assert both.outcome == truth.ended
    place = next(frame for frame in both.stack if frame.file == "unseen_02.py")
    assert place.function == truth.place
    for name in truth.settings:
        assert ended(changed(job.works, job.fails, [name])).outcome == "lived", name
        assert ended(changed(job.fails, job.works, [name])).outcome == "lived", name


def test_a_child_of_its_own_ends_as_said_when_called_as_the_lesson_says():
    job = SIGBUS.ticket
    found = run_in_child(job.run, job.fails, preload=job.preload, timeout_s=job.timeout_s)
    assert found.outcome == SIGBUS.ended


@each_job
def test_a_job_shows_what_a_diagnosis_needs_and_gives_nothing_away(truth):
    job = truth.ticket
    assert len(job.causes) >= 5 and truth.cause in job.causes
    assert set(job.works) == set(job.fails) and not set(job.works) & set(job.options)
    assert all(job.works[name] != job.fails[name] for name in job.works)
    assert f"def {truth.place}(" in job.source()
    shown = f"{job!r}{job.settings()}{job.source()}"
    assert not re.search(r"SIGBUS|deadlock|\bmmap|truncated", shown)


def test_the_seed_draws_the_job_and_both_variants_are_worth_the_same():
    assert [UNSEEN.variant(seed).case() for seed in (0, 1, 2)] == [
        SIGBUS.ticket,
        HANG.ticket,
        SIGBUS.ticket,
    ]
    assert len({(v.id, v.name, v.reads, v.points) for v in UNSEEN.variants}) == 1


def test_the_stuck_job_of_the_lesson_waits_at_the_line_that_is_asked_for(tmp_path):
    source = LESSON.read_text()
    start = source.index("from multiprocessing import get_context")
    code = source[start : source.index("stuck = diagnostics.run_in_child")].replace("# %%", "")
    script = tmp_path / "stuck.py"
    script.write_text(f"import os, signal\n{code}\njob()\n")
    found = run_in_child(script, timeout_s=3)
    frame = next(frame for frame in found.stack if frame.file == "stuck.py")
    line = script.read_text().splitlines()[frame.line - 1].strip()
    assert found.timed_out and line == BEST["line"] and line.endswith(WAITS_AT)
