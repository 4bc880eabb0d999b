"""The yardstick: a tool is scored by its answers, and a bad command ends in one sentence."""

import json
import shlex
import sys

import pytest

from benchmarks.diagnostics.yardstick import __main__ as yardstick
from benchmarks.diagnostics.yardstick import cases, page
from benchmarks.diagnostics.yardstick.adapters import __main__ as adapters
from benchmarks.diagnostics.yardstick.adapters import log_readers, riders
from benchmarks.diagnostics.yardstick.tools import TOOLS
from benchmarks.explain.exported_logs import RunRemains
from course_utils.causes import CAUSES
from course_utils.causes.kinds import CLASSES

FAKE = """
import json, sys
log = sys.stdin.read()
assert log == open(sys.argv[1] + "/log.txt").read()
print("some noise")
found = [{"text": "full", "names": ["memory"]}, {"text": "GPU", "names": ["cuda_oom"]}]
print(json.dumps({"alarm": "memory" in log, "causes": found if "CUDA out" in log else []}))
"""
GPUALERT = "--corpus", "gpualert"
OOM, DIVISION = "gpualert/cuda_oom-wild-01", "gpualert/div_zero-wild-01"


def score(tmp_path, source, *more):
    """Run the command line on a tool of these lines; returns the exit code and the kept answers."""
    tool, kept = tmp_path / "tool.py", tmp_path / "kept.json"
    tool.write_text(source)
    command = shlex.join([sys.executable, str(tool)])
    code = yardstick.main(
        ["--tool", command, "--name", "fake", "--keep", str(kept), *GPUALERT, *more, OOM, DIVISION]
    )
    return code, json.loads(kept.read_text()) if kept.exists() else {}


def test_a_tool_of_five_lines_is_asked_and_scored(tmp_path, capsys):
    code, kept = score(tmp_path, FAKE)
    answers = kept["fake"]["answers"]
    by_name = {case.key: case for case in cases.cases_of("gpualert")}
    assert code == 0
    assert [answers[OOM]["alarm"], answers[DIVISION]["alarm"]] == [True, False]
    assert page.rank_of(by_name[OOM], answers[OOM]) == 1  # the kind of `cuda_memory`
    assert page.rank_of(by_name[DIVISION], answers[DIVISION]) is None
    row = "| fake (2 of 30 cases asked) | 1 of 2 (50%) | 1 of 2 (50%) | 1 of 2 (50%) |"
    assert row in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("print('all is well')", "did not print its answer as JSON, but: 'all is well'"),
        ("pass", "did not print its answer as JSON, but: ''"),
        ("print('[]')", "did not print its answer as JSON"),
        ("print('{}')", "did not print its answer as JSON"),
        ('print(\'{"alarm": "no"}\')', "gave 'no' for `alarm`, which is true or false"),
        ("raise ValueError('no log')", "exit code 1; its last line: ValueError: no log"),
        ("import time; time.sleep(60)", "did not end within 1 s"),
    ],
)
def test_a_bad_answer_ends_in_one_sentence_and_is_not_kept(source, sentence, tmp_path, capsys):
    code, kept = score(tmp_path, source, "--limit", "1" if "sleep" in source else "60")
    assert code == yardstick.FAILED and not kept
    assert sentence in capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize("command", ["/no/such/tool --json", ""])
def test_a_command_that_does_not_exist_ends_in_one_sentence(command, tmp_path, capsys):
    code = yardstick.main(
        ["--tool", command, "--keep", str(tmp_path / "kept.json"), *GPUALERT, OOM]
    )
    assert code == yardstick.FAILED
    assert "cannot be started" in capsys.readouterr().err.splitlines()[0]


def test_a_case_that_does_not_exist_is_refused(tmp_path, capsys):
    assert yardstick.main(["--tool", "true", "runs/no_such"]) == yardstick.FAILED
    assert "there is no case runs/no_such" in capsys.readouterr().err


def test_the_files_of_a_run_do_not_tell_its_name(tmp_path, monkeypatch):
    left = RunRemains([{"loss": 1.0}], ["a warning"], "ValueError: ended")
    monkeypatch.setattr(cases, "left_of", lambda run: left)
    [case] = [one for one in cases.cases_of("runs") if one.key == "runs/rate_5e_2.broken"]
    assert case.write(tmp_path) == 'a warning\n{"loss": 1.0}\nValueError: ended\n'
    files = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert {"log.txt", "entries.jsonl", "trainer_state.json", "run.py", "reference.py"} == set(
        files
    )
    assert "rate_5e_2" not in "".join(files.values()) and case.id in files["run.py"]


def test_every_name_in_the_tables_of_the_adapters_can_be_right():
    known = CAUSES.keys() | CLASSES.keys() | cases.SAME.keys()
    modules = (log_readers, riders)
    tables = [v for m in modules for name, v in vars(m).items() if name.isupper()]
    named = {
        name
        for table in tables
        if isinstance(table, dict)
        for words in table.values()
        if isinstance(words, str)
        for name in words.split()
    }
    assert named and not named - known
    assert adapters.TOOLS.keys() == {tool.name for tool in TOOLS}


def test_a_healthy_case_and_one_of_each_kind_are_chosen():
    some = cases.chosen(cases.cases_of("runs"), everything=False)
    families = [case.family for case in some]
    assert len(families) == len(set(families)) and "" not in families
    assert {c.family for c in some if c.corpus == "runs" and c.right} <= {
        f"{k}.broken" for k in CLASSES
    }
    assert any(not case.right for case in some)


def test_the_page_is_made_from_the_kept_answers():
    assert yardstick.PAGE.read_text() == page.page(yardstick.read(yardstick.KEPT))
