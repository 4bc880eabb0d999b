"""The comparison of two calls of `course oncall bench`, with scores that scripts made."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.oncall import paired
from course_utils.oncall.bench import result, score
from course_utils.oncall.bench.score import Score
from course_utils.oncall.bench.stored import PROTOCOL, RESULTS

LOST = Score("1.1", 1, False, 0, 0, 1, False, 9.0, "code 0", "")
SOLVED = replace(LOST, fixed=True, places=1, classes=1, solved=True)


def called(tmp_path, name, scores, mark="a"):
    out = tmp_path / name
    out.mkdir()
    (out / PROTOCOL).write_text(json.dumps({"seed_mark": mark}))
    lines = [json.dumps(asdict(replace(s, name=f"1.{n}"))) for n, s in enumerate(scores)]
    (out / RESULTS).write_text("\n".join(lines))
    return out


def table_of(one, other):
    return paired.table(paired.read_scores(one), paired.read_scores(other))


def test_tickets_are_compared_one_by_one(tmp_path, capsys):
    without = called(tmp_path, "without", [LOST] * 7 + [SOLVED] + [LOST])
    with_it = called(tmp_path, "with", [SOLVED] * 6 + [LOST, SOLVED])  # the last was not reached
    solved = dict((row[0], row[1:]) for row in table_of(without, with_it).rows)["solved"]
    assert solved == ("1", "7", "0", "6", "2", "0.031")
    paired.main([str(without), str(with_it)])
    assert "8 tickets in both" in capsys.readouterr().out


def test_false_fixes_and_healthy_runs_left_alone_are_compared_as_well(tmp_path):
    alone = replace(LOST, fixed=True, faults=0, solved=True)
    without = called(tmp_path, "without", [alone, alone, SOLVED])
    with_it = called(tmp_path, "with", [replace(alone, fixed=False, solved=False), alone, SOLVED])
    rows = dict((row[0], row[1:]) for row in table_of(without, with_it).rows)
    assert rows["false fixes"][:5] == ("0", "1", "0", "1", "2")
    assert rows["fixed"][:5] == ("1", "1", "0", "0", "3")  # of broken runs alone


def test_other_tickets_and_other_folders_are_refused_in_a_sentence(tmp_path):
    ours, others = (called(tmp_path, name, [LOST], mark=name) for name in ("a", "b"))
    with pytest.raises(SystemExit, match="the same --seed-file"):
        paired.main([str(ours), str(others)])
    with pytest.raises(SystemExit, match="holds no results"):
        paired.main([str(ours), str(tmp_path)])


def test_the_page_about_agents_shows_what_is_printed_now_and_the_form_of_the_results():
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    broken = [replace(LOST, name=f"{n}", level=1 + n % 3, seconds=0.0) for n in range(18)]
    broken = [replace(one, faults=3) if one.level == 3 else one for one in broken]
    healthy = [replace(LOST, name=f"h{n}", fixed=True, faults=0, seconds=0.0) for n in range(6)]
    said = [replace(one, solved=True) for one in healthy]
    printed = score.table([*broken, *said]).text()
    by_name = [{one.name: one for one in (*broken, *some)} for some in (healthy, said)]
    for text in (printed, paired.table(*by_name).text()):
        assert f"```\n{text}\n```" in page
    assert f'`"schema": {result.VERSION}`' in page
    keys = {*result.SCHEMA["properties"]} - {"schema", "made_by"}
    assert keys == set(re.findall(r"^\| `(\w+)` \|", page, re.M))
