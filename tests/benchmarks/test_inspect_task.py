"""The tickets are a task that inspect_ai runs and scores; its packages come from the index."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from whole import IS_WHOLE

from benchmarks.oncall import inspect_log

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "helpers" / "scripts" / "inspect_tickets.py"
pytestmark = [
    pytest.mark.skipif(not IS_WHOLE, reason="fetches packages: `make prove` does it"),
    pytest.mark.timeout(900),
]


def in_extra() -> list[str]:
    """What the extra `bench` brings beside the lessons' own packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [line for line in project["optional-dependencies"]["bench"] if "brokenruns" not in line]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory) -> dict:
    packages, folder = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("run")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile")
    subprocess.run([*pip, "--target", packages, *in_extra()], check=True)
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{packages}", "HOME": str(folder)}
    ran = subprocess.run(
        [sys.executable, SCRIPT, folder], env=env, capture_output=True, text=True, timeout=800
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_right_fix_and_report_solve_a_ticket_and_so_does_leaving_a_healthy_one(evaluated):
    told = evaluated["knows_the_answer"]
    assert told["status"] == "success" and len(told["scores"]) == 4
    for value in told["scores"].values():
        assert value["fixed"] == value["solved"] == 1
        assert value["places"] == value["classes"] == value["faults"]
    assert sorted(value["faults"] for value in told["scores"].values()) == [0, 0, 1, 3]
    assert told["rates"]["solved"] == 1 and told["rates"]["false_fixes"] == 0
    assert told["rates"]["solved_low"] == pytest.approx(0.5101, abs=1e-4)  # Wilson, 4 of 4


def test_a_change_of_a_healthy_run_is_a_false_fix(evaluated):
    rates = evaluated["always_fixes"]["rates"]
    assert rates["fixed"] == rates["false_fixes"] == 1 and rates["solved"] == 0.5


def test_an_untouched_ticket_solves_nothing(evaluated):
    told = evaluated["looks_for_the_seed"]
    assert told["status"] == "success"
    rates = told["rates"]
    assert rates["fixed"] == rates["solved"] == rates["places"] == rates["false_fixes"] == 0


def test_the_sandbox_does_not_hold_the_tickets_seed(evaluated):
    assert evaluated["looks_for_the_seed"]["found"] == [""] * 4


def test_the_kept_logs_are_read_by_inspect_ai(evaluated):
    assert evaluated["kept"] == ["success"] * len(inspect_log.NAMES)
