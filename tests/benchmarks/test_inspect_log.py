"""The kept logs of the inspect_ai task can be read without it, and its page has their numbers."""

import json
from pathlib import Path

from benchmarks.oncall import inspect_log

ROOT = Path(__file__).parents[2]
LOGS = sorted(inspect_log.KEPT.glob("*.json"))


def test_the_kept_logs_are_whole_and_small():
    assert [path.stem for path in LOGS] == sorted(inspect_log.NAMES)
    for path in LOGS:
        log = json.loads(path.read_text(encoding="utf-8"))
        assert log["status"] == "success" and len(log["samples"]) == 6
        assert path.stat().st_size < 200_000
        assert log["eval"]["task_file"] == "benchmarks/oncall/inspect_task.py"


def test_no_log_tells_a_ticket_by_its_seed_or_mark():
    for path in LOGS:
        said = path.read_text(encoding="utf-8")
        assert '"seed":' not in said and '"mark":' not in said


def test_the_page_has_the_numbers_of_the_kept_logs():
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    for row in (inspect_log.COLUMNS, *inspect_log.rows()):
        assert f"| {' | '.join(row)} |" in page


def test_the_numbers_of_a_kept_log_are_those_of_its_samples():
    for path in LOGS:
        log = json.loads(path.read_text(encoding="utf-8"))
        values = [one["scores"]["healthy_again"]["value"] for one in log["samples"]]
        broken = [value for value in values if value["faults"]]
        said = log["results"]["scores"][0]["metrics"]
        assert said["solved"]["value"] == sum(value["solved"] for value in values) / len(values)
        assert said["fixed"]["value"] == sum(value["fixed"] for value in broken) / len(broken)
