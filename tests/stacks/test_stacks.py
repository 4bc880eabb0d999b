"""The cases in the course's own stack, and what counts as a proof in another."""

import sys
from dataclasses import replace

import pytest
import yaml
from whole import cases

from tests.stacks import pythons
from tests.stacks.beside import ROOT, Beside
from tests.stacks.cases import all_cases
from tests.stacks.cases.__main__ import outcome_of
from tests.stacks.cases.case import FOUND, SILENCE, Case, Seen
from tests.stacks.declare import LOCKS, OWN, STACKS
from tests.stacks.page import Outcomes, page

WORKFLOW = ROOT / ".github" / "workflows" / "stacks.yml"
EVERY = all_cases()
NOTHING = Outcomes("t451", "old", "3.11", "today", ["torch==2.13.0"], [], [], "one cause")


def outcomes(*kinds: str, changed: tuple[str, ...] = ()) -> Outcomes:
    said = {"expected": "no cause", "seen": "a cause", "unseen": {"the look": "moved"}}
    found = [{"case": f"case {i}", "kind": kind, **said} for i, kind in enumerate(kinds)]
    return replace(NOTHING, cases=found, changed=list(changed))


@pytest.mark.parametrize("case", cases(EVERY, kind=lambda case: case.kind), ids=str)
def test_an_instrument_says_what_it_must_in_the_courses_own_stack(case, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the runs leave their folders there
    seen = case.run()
    assert case.expected.holds(seen.causes), (case.expected.says, seen)


def test_every_kind_of_run_is_there_healthy_and_broken():
    kinds = {case.kind for case in EVERY}
    groups = {group for group, _ in kinds} - {"names"}
    assert kinds == {(group, healthy) for group in groups for healthy in (True, False)} | {
        ("names", True)
    }
    assert groups == {"loop", "Trainer", "LoRA", "SFT", "DPO", "GRPO"}


def test_every_lock_is_a_stack_and_every_stack_has_a_lock():
    assert {path.stem for path in LOCKS.iterdir()} == {stack.name for stack in STACKS}
    assert all("torch" not in stack.environment.pins for stack in STACKS)


def test_the_workflow_runs_every_stack():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert jobs["stack"]["strategy"]["matrix"]["stack"] == [stack.name for stack in STACKS]


@pytest.mark.parametrize(
    ("expected", "answer", "kind"),
    [(SILENCE, [], "right"), (SILENCE, ["nan"], "wrong"), (FOUND, [], "wrong")],
)
def test_an_answer_is_right_or_wrong(expected, answer, kind):
    assert outcome_of(Case("loop", "x", lambda: Seen(answer), expected)).kind == kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No module named 'nowhere'", "crashed"),
        ("pip install numpy", "crashed"),
        ("dill is not here: pip install nowhere", "cannot"),
    ],
)
def test_only_an_error_that_names_a_missing_package_to_install_is_no_crash(
    message, kind, monkeypatch
):
    def run() -> Seen:
        raise ImportError(message)

    monkeypatch.setattr("tests.stacks.cases.__main__.OPTIONAL", ("nowhere", "numpy"))
    assert outcome_of(Case("loop", "x", run, SILENCE)).kind == kind


def test_a_stack_holds_where_all_is_right_or_said_and_pip_changed_nothing():
    assert outcomes("right", "cannot").holds
    assert not outcomes("right", "wrong").holds
    assert not outcomes("right", "crashed").holds
    assert not outcomes("right", changed=("numpy==2.0",)).holds
    assert not outcomes().holds


def test_what_pip_changed_is_seen():
    before = ("numpy==1.26.4", "torch==2.13.0")
    wheel = "brokenruns @ file:///tmp/brokenruns.whl"
    assert Beside(None, before, (*before, wheel)).changed == []
    after = ("numpy==2.0.0", "torch==2.13.0", wheel)
    assert Beside(None, before, after).changed == ["numpy==1.26.4", "numpy==2.0.0"]


def test_the_page_shows_what_is_not_right_and_what_is_not_seen():
    seen = [pythons.Seen("3.12.1", "yes", "yes", "9 passed"), pythons.Seen("3.13")]
    own = replace(outcomes("right"), name=OWN.name, what="new")
    written = page([own, outcomes("right", "wrong")], seen)
    assert "| old | 2 | 1 | 1 | 0 | 0 | nothing | 3.11 |" in written
    assert "| old | case 1 | wrong | no cause | a cause |" in written
    assert "| old | the look | moved | 1 |" in written  # the course's own has it in case 0 too
    assert "one cause" in written
    assert "| 3.12.1 | yes | yes | 9 passed |" in written
    assert "| 3.13 | not seen here | not seen here | not seen here |" in written


def test_a_python_holds_where_nothing_failed_or_where_there_is_none():
    assert pythons.Seen("3.13").holds
    assert pythons.Seen("3.12.1", "yes", "yes", "9 passed").holds
    assert not pythons.Seen("3.12.1", "no", "yes", "9 passed").holds
    assert not pythons.Seen("3.12.1", "yes", "no", "9 passed").holds
    assert not pythons.Seen("3.12.1", "yes", "yes", "1 failed, 8 passed").holds


def test_this_python_is_found_and_one_that_is_not_here_is_none():
    assert pythons.interpreter(".".join(map(str, sys.version_info[:2]))) == sys.executable
    assert pythons.interpreter("3.99") is None
