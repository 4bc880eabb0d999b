"""How a judge keeps an answer from the next one, and from itself."""

import json
import os
import signal
import time
from dataclasses import replace
from decimal import Decimal

import pytest
import torch

from course_utils.exercises import find_exercise, find_lesson
from course_utils.grading.judge import jobs, judging_mode, verdict_cache
from course_utils.grading.judge.isolation import ENDED, TOO_LONG, in_fork
from course_utils.grading.judge.jobs import Jobs
from course_utils.grading.judge.judge import TOO_DEEP, Judge
from course_utils.grading.judge.values import MAX_HASHED, Decoder
from course_utils.grading.judge.wire import BadMessage

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the judge forks itself")
LIMIT_S = 20.0


def test_what_happens_in_a_fork_stays_there():
    constant = torch.ones(3)

    def spoil():
        constant.zero_()
        return {"sum": constant.sum().item()}

    assert in_fork(spoil, LIMIT_S) == {"sum": 0.0}
    assert constant.sum() == 3


def test_a_large_answer_comes_whole():
    assert len(in_fork(lambda: {"text": "x" * 10**6}, LIMIT_S)["text"]) == 10**6


@pytest.mark.parametrize(
    "end",
    [lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0],
    ids=["exit", "killed", "raised"],
)
def test_a_fork_that_ends_early_is_said(end, capfd):
    assert in_fork(end, LIMIT_S) == ENDED


@pytest.mark.parametrize("number", sorted(judging_mode.BELIEVED)[:1])
def test_an_answer_that_is_too_deep_to_be_read_is_told_so(number):
    exercise = find_exercise(number)
    deep = f"{exercise.reads} = {'+'.join(['a'] * 900)}"
    cell = {"source": deep, "role": "answer", "exercise": number}
    asked = {"cells": [cell], "cell_s": LIMIT_S, "walls": False}
    score = Judge(None, find_lesson(number[:2]), asked)._apart(exercise)
    assert score["details"] == [TOO_DEEP] and score["outcome"] == "raised"


def test_a_fork_that_hears_no_limit_is_killed():
    def deaf():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        time.sleep(1000)

    began = time.monotonic()
    assert in_fork(deaf, 0.5) == TOO_LONG
    assert time.monotonic() - began < LIMIT_S


@pytest.mark.parametrize(
    "data",
    [
        {"is": "Fraction", "text": "1e999999999"},
        {"is": "Fraction", "text": "1E+0099999_9"},
        {"is": "Decimal", "text": "1e999999999"},
        {"is": "complex", "text": "1" * 10_000},
        {"is": "set", "of": list(range(MAX_HASHED + 1))},
        {"is": "dict", "of": [[n, n] for n in range(MAX_HASHED + 1)]},
    ],
    ids=str,
)
def test_what_would_take_all_time_or_memory_is_no_message(data):
    with pytest.raises(BadMessage):
        Decoder([]).decode(data)


def test_ordinary_numbers_travel():
    decode = Decoder([]).decode
    assert decode({"is": "Fraction", "text": "-3/8"}) == -0.375
    assert decode({"is": "Decimal", "text": "1.5E-10"}) == Decimal("1.5e-10")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(verdict_cache, "_WARM", {})
    return tmp_path


def test_a_value_is_judged_once_and_an_error_again(scratch):
    exercise, asked = find_exercise("03.8"), []

    def make(outcome):
        asked.append(outcome)
        return {"outcome": outcome, "unmet": [], "details": []}

    def judged(value, outcome, variant=exercise, *, is_kept=True):
        return verdict_cache.made_once(variant, value, lambda: make(outcome), is_kept=is_kept)[
            "outcome"
        ]

    assert judged({"a": 1}, "wrong") == judged({"a": 1}, "passed") == "wrong"
    assert judged({"a": 1.0}, "passed") == judged({"a": True}, "passed") == "passed"
    assert judged({"a": 1}, "passed", exercise.also[0]) == "passed"
    assert judged({"a": 1}, "passed", is_kept=False) == "passed"
    assert judged({"b": 1}, "raised") == "raised" and judged({"b": 1}, "passed") == "passed"
    for value in (torch.ones(1), [print], float):
        judged(value, "wrong")
        assert judged(value, "passed") == "passed"
    assert len(asked) == 1 + 2 + 1 + 1 + 2 + 6


def test_variants_of_an_exercise_have_titles_of_their_own():
    """The digest of a verdict knows them by it."""
    for number in ("01.8", "02.8", "03.8", "04.10", "05.8", "06.12", "07.8"):
        titles = [variant.title for variant in find_exercise(number).variants]
        assert len(set(titles)) == len(titles)


class Parent:
    """In place of the process in which the job runs."""

    runs: list = []  # noqa: RUF012

    def __init__(self, **_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, function, arguments, *, timeout_s):
        self.runs.append(arguments)
        return jobs.Ending(-7, False, "training starts", "Fatal Python error: Bus error")


def test_a_job_is_run_once_with_settings_that_it_has_and_with_no_others(scratch, monkeypatch):
    monkeypatch.setattr(jobs, "WarmParent", Parent)
    Parent.runs.clear()
    job = find_exercise("02.8").case()
    with Jobs(job) as ask:
        assert ask(dict(job.fails)) == ask(dict(job.fails))
        assert ask(job.fails | {"write": "new file"}, 3)["exit_code"] == -7
        assert len(Parent.runs) == 2
        for settings, seed in (
            (job.fails | {"write": "/etc/passwd"}, 0),
            (job.fails | {"unknown": 1}, 0),
            (job.fails | {"renew": 1}, 0),  # True in all but its type
            ({}, 0),
            ("tokens", 0),
            (dict(job.fails), -1),
            (dict(job.fails), "0"),
        ):
            with pytest.raises(ValueError, match=r"settings|seed"):
                ask(settings, seed)
        with pytest.raises(ValueError, match="th that is asked"):
            for _ in range(jobs.MAX_RUNS):
                ask(dict(job.fails))
    assert len(Parent.runs) == 2
    kept = [json.loads(path.read_text()) for path in (scratch / "jobs").iterdir()]
    assert len(kept) == 2


def test_the_box_asks_for_the_jobs_own_run_and_refuses_every_other_child(monkeypatch):
    from course_utils.diagnostics.processes import autopsy
    from course_utils.grading.judge import job_requests

    for name in ("WarmParent", "call_in_process"):
        monkeypatch.setattr(autopsy, name, getattr(autopsy, name))  # put back afterwards
    job = find_exercise("02.8").case()
    ending = {"exit_code": -7, "timed_out": False, "stdout": "", "stderr": ""}
    job_requests.install(job, lambda settings, seed=0: ending)
    assert autopsy.run_in_child(job.run, job.fails).outcome == "SIGBUS"
    with autopsy.warm_children(preload=job.preload) as run:
        assert run(job.run, job.fails, 3, timeout_s=10).outcome == "SIGBUS"
        for function in (print, job.train, replace(job).run):
            with pytest.raises(PermissionError, match="starts no process"):
                run(function, job.fails)
