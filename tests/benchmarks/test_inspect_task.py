"""The tickets are a task that inspect_ai runs and scores; its packages come from the index."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from whole import IS_WHOLE

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "benchmarks" / "oncall" / "locks" / "inspect-ai.txt"
SCRIPT = ROOT / "tests" / "helpers" / "scripts" / "inspect_tickets.py"
pytestmark = [
    pytest.mark.skipif(not IS_WHOLE, reason="fetches packages: `make prove` does it"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory) -> dict:
    packages, folder = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("run")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile")
    subprocess.run([*pip, "--target", packages, "--requirement", LOCK], check=True)
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{packages}", "HOME": str(folder)}
    ran = subprocess.run(
        [sys.executable, SCRIPT, folder], env=env, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_right_fix_and_report_solve_a_ticket(evaluated):
    told = evaluated["knows_the_answer"]
    assert told["status"] == "success"
    assert set(told["scores"]) == {"1.1", "3.1"}
    for value in told["scores"].values():
        assert (value["fixed"], value["places"], value["classes"], value["solved"]) == (1, 1, 1, 1)


def test_an_untouched_ticket_scores_nothing(evaluated):
    told = evaluated["looks_for_the_seed"]
    assert told["status"] == "success"
    assert all(set(value.values()) == {0.0} for value in told["scores"].values())


def test_the_sandbox_does_not_hold_the_tickets_seed(evaluated):
    assert evaluated["looks_for_the_seed"]["found"] == ["", ""]
