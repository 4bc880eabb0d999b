"""The unread runs: that each has a cause of the catalogue, and how what is said is counted."""

import importlib

from benchmarks.diagnostics.unread.__main__ import by_cause
from benchmarks.diagnostics.unread_runs.__main__ import AUTHORS, Counted, key, rows
from course_utils.causes import CAUSES

FEW = [
    Counted("a", "broken", "pad_is_eos", "pad_is_eos"),
    Counted("a", "twin", "healthy", "pad_is_eos"),
    Counted("a", "broken", "beta_zero", ""),
    Counted("a", "twin", "healthy", ""),
    Counted("b", "broken", "beta_zero", "pad_is_eos"),
    Counted("b", "twin", "healthy", ""),
    Counted("b", "odd", "healthy", "beta_zero"),
]


def test_every_broken_run_has_a_cause_of_the_catalogue():
    for author in AUTHORS:
        module = importlib.import_module(f"benchmarks.diagnostics.unread_runs.{author}")
        told = key()[author]
        assert set(module.CASES) == set(told["runs"]) and set(module.ODD) == set(told["odd"])
        assert all(one["key"] in CAUSES for one in told["runs"].values())
    assert len(AUTHORS) >= 3


def test_right_another_nothing_and_the_accused_are_told_apart():
    assert rows(FEW) == [
        ("a", "2", "1", "0", "1", "2", "1", "0", "0"),
        ("b", "1", "0", "1", "0", "1", "0", "1", "1"),
        ("all", "3", "1", "1", "1", "3", "1", "1", "1"),
    ]
    assert by_cause(FEW)[0] == "beta_zero: 0 right, 0 another, 1 accused"
