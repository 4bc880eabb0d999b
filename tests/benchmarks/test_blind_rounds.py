"""A blind round is scored: a case in its own process through a door, then verdicts into a table."""

import os
import signal
from types import SimpleNamespace

import pytest
import torch

from benchmarks.diagnostics.blind import __main__ as scoring
from benchmarks.diagnostics.blind import doors, lead, rounds
from benchmarks.diagnostics.tools import in_child

THREAD = "https://github.com/huggingface/trl/issues/"
KEY = {
    "runs": {"fake": {"verdict": "broken"}, "odd": {"verdict": "healthy"}},
    "logs": {
        "01": {"verdict": "broken", "source": THREAD + "3857"},  # also in tests/helpers/pasted
        "02": {"verdict": "broken", "source": THREAD + "0"},
    },
}
NAMED = {"cause": "right", "detected": True, "place": True, "fix": False, "false": ["“no”"]}
NOTHING = {"cause": "nothing", "detected": False, "place": False, "fix": False}
VERDICTS = {
    "fake.broken": {"look": NOTHING, "watching": NAMED},
    "odd.healthy": {"look": {"false": ["“no”"]}, "watching": "look"},
    "log_01": {"verdict": "right"},
    "log_02": {"verdict": "missed"},
}


def train(healthy=False, watch=None):
    """A loop of one's own; the broken one freezes all it would train."""
    model, batch = torch.nn.Linear(2, 1), torch.ones(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.requires_grad_(healthy)
    with watch(model, optimizer=optimizer, batch=batch):
        if healthy:
            model(batch).pow(2).mean().backward()
            optimizer.step()


@pytest.mark.parametrize(("door", "healthy"), [("watching", False), ("look", True)])
def test_a_broken_loop_is_named_and_its_twin_is_not(door, healthy):
    case = SimpleNamespace(train=train)
    outcome = in_child(lambda: case, lambda made: doors.through(door, made, "", healthy))
    assert ("nothing_trainable" in outcome.keys) is not healthy
    assert outcome.text and outcome.found["what"] == "Linear"


def test_a_case_that_dies_leaves_its_signal():
    outcome = in_child(lambda: None, lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert outcome.ended == "signal 9"


@pytest.fixture
def fake():
    said = {"commit": "abc of 2026-01-01", "date": "2026-01-02", "ended": "", "healthy": False}
    silent, loud = said | {"keys": []}, said | {"keys": ["no_signal"]}
    found = {f"{case}.look": silent for case in ("fake.broken", "fake.twin", "odd.healthy")}
    found |= {f"{case}.watching": loud for case in ("fake.broken", "odd.healthy")}
    found |= {"fake.twin.watching": silent, "log_01": loud, "log_02": silent | {"healthy": True}}
    return rounds.Round("round_0", KEY, found, VERDICTS, "def of 2026-01-01")


def test_the_best_door_counts_and_each_door_apart(fake):
    lines = {line[0]: line[1:] for line in rounds.totals(fake)}
    look, watching, best = (lines[door] for door in ("look", "watching", "best"))
    assert look == ("0 of 1", "0", "0", "1", *["0 of 1"] * 3, "1", "0 of 1", "0 of 1")
    assert watching == ("1 of 1", "0", "0", "0", *["1 of 1"] * 2, "0 of 1", "2", "0 of 1", "1 of 1")
    assert best == watching
    assert lines["steps"][0] == "0 of 0"


def test_logs_of_our_own_corpus_are_counted_apart(fake):
    page = "\n".join(scoring.page_of(fake))
    assert "| blind | 1 | 0 | 0 | 0 | 1 | 0 | 1 of 1 |" in page
    assert "| in our own corpus | 1 | 1 | 0 | 0 | 0 | 0 | 0 of 1 |" in page
    assert "Alarm on odd (healthy): watching: no_signal." in page
    assert "* “no” In fake (broken), odd (healthy)." in page


def test_the_page_is_of_the_rounds_kept():
    assert scoring.PAGE.read_text(encoding="utf-8") == scoring.page()


def test_the_page_of_diagnoses_leads_with_the_rounds_kept(tmp_path, monkeypatch):
    written = lead.PAGE.read_text(encoding="utf-8")
    copy = tmp_path / "diagnosis.md"
    copy.write_text(written, encoding="utf-8")
    monkeypatch.setattr(lead, "PAGE", copy)
    lead.renew()
    assert copy.read_text(encoding="utf-8") == written
    assert written.index(lead.TITLE) < written.index("## The half not tuned on")
