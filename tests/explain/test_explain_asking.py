"""A rule that raises: the others answer all the same, and somebody hears of it."""

import random
from pathlib import Path

import pytest
from whole import cases

from course_utils.explain import explain, rules, runs
from course_utils.explain.asking import answers
from course_utils.explain.finding import Finding

ROUNDS = Path(__file__).parents[2] / "benchmarks" / "diagnostics" / "blind"
DROPPED = 0.15  # of the lines, and of the words of each


def breaks(*_given):
    raise KeyError("loss")


def test_the_other_rules_answer_and_the_failure_is_said_and_logged(caplog):
    one = Finding("improves", 1.0, None)
    with pytest.warns(RuntimeWarning, match="the rule breaks failed on this log"):
        assert answers((lambda log: None, breaks, lambda log: one, lambda log: [one]), None) == [
            one,
            one,
        ]
    assert "KeyError: 'loss'" in caplog.text


def test_an_answer_is_given_though_a_rule_raises(monkeypatch):
    monkeypatch.setattr(runs, "RULES", (breaks, *rules.RULES))
    with pytest.warns(RuntimeWarning):
        answer = explain("{'loss': 0.7, 'grad_norm': 1.0}\n{'loss': nan, 'grad_norm': nan}\n")
    assert answer.findings


@pytest.mark.parametrize("round_", cases(sorted(ROUNDS.glob("round_*/logs")), kind=lambda _: 0))
def test_no_rule_raises_where_words_and_lines_are_missing(round_):
    """Warnings are errors here."""
    noise = random.Random(str(round_.parent.name))
    for path in sorted(round_.glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for _ in range(3):
            kept = [_thinned(line, noise) for line in lines if noise.random() > DROPPED]
            explain("\n".join(kept))


def _thinned(line: str, noise: random.Random) -> str:
    """A line without some of its words."""
    return " ".join(word for word in line.split(" ") if noise.random() > DROPPED)
