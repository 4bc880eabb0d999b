"""The eras' declarations agree with the scripts and the README; a failed build leaves nothing."""

import ast
import os

import pytest
from fake_course import cli

from course_utils.errors import BadRequest, IndexUnreachable
from course_utils.files.repository import find_repository
from course_utils.reproductions import eras
from course_utils.reproductions.eras import environment, folders
from course_utils.reproductions.eras.declare import SCRIPTS
from course_utils.reproductions.eras.environment import Environment

ERAS = pytest.mark.parametrize("era", eras.ERAS, ids=lambda era: era.number)
SMALL = "04_verl_collapse_now"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(folders.ENV_NAME, str(tmp_path / "eras"))
    return tmp_path / "eras"


@ERAS
def test_each_named_deviation_is_in_the_script_and_each_change_has_its_text(era):
    assert era.deviations and era.changes
    for change in era.deviations:
        assert change.new in era.script("then")
    for change in era.changes:
        assert change.old in era.script("then")
    compile(era.script("now"), era.stem, "exec")
    assert era.script("now") != era.script("then")


@ERAS
def test_a_script_is_plain_user_code_without_the_course(era):
    tree = ast.parse(era.script("then"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.startswith("course") for module in modules)


@ERAS
def test_a_lock_pins_every_line_and_never_torch(era):
    for lock in (era.then, era.now):
        pins = lock.pins if lock else {}
        assert all(version and version[0].isdigit() for version in pins.values())
        assert "torch" not in pins
    assert set(era.packages) <= set(era.then.pins)


def test_every_lesson_with_a_report_has_an_era_and_every_script_and_lock_is_used():
    stems = {era.stem for era in eras.ERAS}
    assert stems == {path.stem for path in SCRIPTS.glob("*.py")}
    without = {"00_start_here", "01_floats", "99_on_call"}
    assert stems == set(find_repository().stems()) - without
    locks = {lock.lock for era in eras.ERAS for lock in (era.then, era.now) if lock}
    assert locks == {path.stem for path in environment.LOCKS.glob("*.txt")}


def test_the_page_has_the_declared_table():
    assert eras.table() in (find_repository().root / "docs" / "then_and_now.md").read_text(
        encoding="utf-8"
    )


@ERAS
def test_a_lessons_row_is_its_row_of_the_readme(era):
    cells = [cell for _, cell in eras.row(era.number).rows]
    assert f"| {' | '.join(cells)} |" in eras.table()


@pytest.mark.parametrize("lesson", ["00", "01_floats"])
def test_a_lesson_without_a_report_says_so(lesson):
    with pytest.raises(BadRequest, match="has no era"):
        eras.find_era(lesson)
    result = cli("era", lesson)
    assert result.exit_code == 2 and "has no era" in result.stderr


def test_without_the_index_it_is_one_sentence_and_nothing_is_left(cache, monkeypatch):
    closed = {"INDEX_URL": "http://127.0.0.1:9/simple", "EXTRA_INDEX_URL": "", "FIND_LINKS": ""}
    for name, value in closed.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    result = cli("era", "06", "--then")
    assert result.exit_code == 3
    said = result.stderr.splitlines()[-1]
    assert said.startswith("The package index cannot be reached") and said.count(". ") == 0
    assert [path.name for path in cache.iterdir()] == [".lock"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_build_leaves_nothing_and_is_never_used(cache, monkeypatch, error):
    def interrupt(self, folder):
        assert folder.joinpath("pyvenv.cfg").exists()
        raise error

    monkeypatch.setattr(Environment, "_install", interrupt)
    with pytest.raises(error):
        Environment(SMALL).ensure()
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_what_a_killed_build_left_is_cleared_and_remove_takes_only_what_was_named(cache):
    for name in (".building-killed", "06_grad_fn-0123456789ab", "03_reward_nan-0123456789ab"):
        cache.joinpath(name).mkdir(parents=True)
    result = cli("era", "06", "--remove")
    assert "06_grad_fn-0123456789ab" in result.stdout
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "03_reward_nan-0123456789ab"]
    assert "03_reward_nan" in cli("era", "--remove").stdout
    assert cli("era", "--remove").stdout.strip() == "nothing to remove"


def test_the_name_of_an_environment_changes_with_its_lock(cache, tmp_path):
    def made() -> Environment:
        return Environment("one", locks=tmp_path)

    tmp_path.joinpath("one.txt").write_text("verl==0.9.0\n")
    before = made().path
    tmp_path.joinpath("one.txt").write_text("verl==0.9.1\n")
    assert made().path != before
    assert made().path == made().path


def test_the_list_names_every_era(cache):
    listed = cli("era").stdout
    named = [word for era in eras.ERAS for word in (era.stem, *era.versions.split())]
    assert all(word in listed for word in named)
    assert listed.count("not built") == len(eras.ERAS)


def test_an_unreachable_index_is_an_error_of_its_own():
    assert not issubclass(IndexUnreachable, BadRequest)


def gemma_facts(fp16_loss: float) -> dict:
    healthy = {"losses": [0.7], "grad_norms": [0.2], "rewards": [0.0], "moved": 8}
    sick = {"losses": [fp16_loss], "rewards": [float("nan")], "moved": 0, "scale": 1.0}
    return {"fp16=True": sick, "float32": healthy, "bf16=True": healthy}


@pytest.mark.parametrize(("loss", "exit_code"), [(0.0, 0), (0.7, 1)])
def test_the_exit_code_is_1_when_a_symptom_is_not_reproduced(monkeypatch, cache, loss, exit_code):
    from course_utils.commands import era

    monkeypatch.setattr(era, "measure", lambda *_: gemma_facts(loss))
    result = cli("era", "05", "--then")
    assert result.exit_code == exit_code
    assert ("not reproduced, NOT AS EXPECTED: 0.7" in result.stdout) is bool(exit_code)
    assert "From the report to the script" in result.stdout
