"""What lesson 02 rests on: which runs die, of what, and which divisions do.

About 20 s of CPU, most of it importing TRL in one warm child.
"""

import ctypes
import platform
import signal
import sys
import time
from contextlib import nullcontext
from dataclasses import replace

import psutil
import pytest
import torch

from course_utils.checks import checking
from course_utils.checks.report import Outcome
from course_utils.diagnostics import warm_children
from course_utils.exercises.lesson_02.division import BY_ZERO, HARMLESS, TOO_LARGE
from course_utils.exercises.lesson_02.ending import ENDING
from course_utils.exercises.lesson_02.machines import LISTINGS, NEEDS, RIGHT, need_of
from course_utils.reproductions.lesson_02 import float_faults, grpo_sigfpe
from course_utils.reproductions.lesson_02.grpo_sigfpe import (
    REPORTED,
    SHORT,
    STARTED,
    StandInGemm,
    end_children,
    ending_of,
    endings_of,
    is_sigfpe,
)

ON_X86 = sys.platform == "linux" and platform.machine() == "x86_64"


@pytest.fixture(scope="module", autouse=True)
def temporary(tmp_path_factory):
    """Where the children keep what is temporary. Nearly all tests share the one that has TRL."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        end_children()
        yield folder
        end_children()


def test_after_an_interrupted_run_the_next_one_gets_its_own_answer():
    def stop(*_args):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            grpo_sigfpe.in_child(time.sleep, 30)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert ending_of(SHORT | {"learning_rate": -1.0}, device="cpu").outcome == "ValueError"


@pytest.fixture(scope="module")
def endings():
    return endings_of(
        {
            "short": SHORT,
            "reported": REPORTED,
            "bf16=False": REPORTED | {"bf16": False},
            "sound": REPORTED | {"sound": True, "max_steps": 2},
            "overflow": REPORTED | {"sound": True, "fill_gradients": 2e38},
            "no such setting": SHORT | {"warmup_ratio": 0.1},
        },
        device="cpu",
    )


def test_the_two_runs_have_a_value_each_for_the_same_eleven_settings():
    assert set(SHORT) == set(REPORTED) and len(SHORT) == 11
    assert all(SHORT[name] != REPORTED[name] for name in SHORT)


def test_the_reported_run_dies_before_it_logs_and_the_short_one_lives(endings):
    assert is_sigfpe(endings["reported"]) and endings["reported"].exit_code == -8
    assert endings["reported"].last_line == STARTED
    assert endings["reported"].stack[2].function == "choose_algorithm"
    assert endings["short"].outcome == endings["bf16=False"].outcome == "lived"


def test_without_the_stand_in_the_reported_run_trains(endings):
    assert endings["sound"].last_line == "grad_norm finite, weights finite"


def test_an_overflow_of_the_added_gradients_destroys_the_weights_and_kills_nobody(endings):
    assert endings["overflow"].outcome == "lived"
    assert endings["overflow"].last_line == "grad_norm inf, weights not finite"


def test_a_setting_that_trl_does_not_know_is_an_exception_of_the_child(endings):
    assert endings["no such setting"].outcome == "TypeError"
    assert "warmup_ratio" in endings["no such setting"].exception


@pytest.mark.parametrize(
    ("dtype", "columns", "dies"),
    [(torch.bfloat16, 511, True), (torch.bfloat16, 512, False), (torch.float32, 64, False)],
)
def test_the_stand_in_looks_at_format_and_shape_only(monkeypatch, dtype, columns, dies):
    monkeypatch.setattr(grpo_sigfpe, "divide_integers_by_zero", lambda: None)  # Python's raises
    with pytest.raises(ZeroDivisionError) if dies else nullcontext(), StandInGemm():
        product = torch.zeros(3, 8, dtype=dtype) @ torch.zeros(8, columns, dtype=dtype)
        assert product.shape == (3, columns)


def divide_all(pairs):
    for a, b in pairs:
        ctypes.CDLL(None).div(a, b)


def divide_by_torch(pairs, rounding_mode):
    for a, b in pairs:
        torch.div(torch.tensor([a], dtype=torch.int32), b, rounding_mode=rounding_mode)


@pytest.mark.skipif(not ON_X86, reason="what an integer division does is the processor's own")
def test_the_truth_table_of_the_divisions_is_that_of_the_processor():
    with warm_children() as run:
        for a, b in BY_ZERO[:4] + TOO_LARGE:
            assert is_sigfpe(run(lambda a=a, b=b: ctypes.CDLL(None).div(a, b))), (a, b)
        assert run(divide_all, HARMLESS).outcome == "lived"
        assert run(divide_by_torch, TOO_LARGE, "trunc").outcome == "SIGFPE", "section 16"
        assert run(divide_by_torch, TOO_LARGE, None).outcome == "lived"


@pytest.mark.skipif(not ON_X86, reason="float traps are glibc's, on x86-64")
def test_only_the_native_integer_division_kills_unless_traps_are_unmasked():
    fates = float_faults.fates()
    assert [fault for fault, fate in fates.as_usual.items() if fate == "SIGFPE"] == [
        "1 / 0, C integers"
    ]
    died = {fault for fault, fate in fates.unmasked.items() if fate == "SIGFPE"}
    flagged = {row[0] for row in float_faults.results_table().rows if row[2] != "-"}
    assert died == flagged | {"1 / 0, C integers"}
    assert all(fate != "exception" or "torch" in f for f, fate in fates.as_usual.items())


def test_each_need_but_the_path_occurs_because_torchs_own_wheels_go_before_the_path():
    assert set(RIGHT.values()) == set(NEEDS) - {"path"}
    assert len(set(LISTINGS.values())) == len(LISTINGS)
    built = {letter: replace(machine, search="RUNPATH") for letter, machine in LISTINGS.items()}
    assert [need_of(built[letter]) for letter in "CD"] == ["path", "nothing"]


def test_an_answer_that_raises_for_a_signal_without_a_name_does_not_pass():
    def ended_by(status):
        number = status - 128 if status > 128 else -status
        return signal.Signals(number).name if 1 <= number <= 64 else None

    report = checking.check(ENDING, ended_by)
    assert report.outcome is Outcome.RAISED and "not a valid Signals" in report.text()


def test_runs_that_die_leave_no_folder_and_no_process(endings, temporary):
    assert is_sigfpe(endings["reported"])
    end_children()
    assert not list(temporary.glob("course-*"))
    alive = [child.cmdline() for child in psutil.Process().children(recursive=True)]
    assert not [
        command for command in alive if "course_utils.diagnostics.processes.child_side" in command
    ]
