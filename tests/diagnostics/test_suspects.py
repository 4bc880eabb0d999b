"""Healthy runs that were accused once, or that readers of the rules wrote to be accused."""

import contextlib
import importlib
import io
import json
import tempfile
from pathlib import Path

import pytest
from whole import cases

from benchmarks.diagnostics import suspects
from course_utils.diagnostics import diagnose

FOLDER = Path(suspects.__file__).parent
KEY = json.loads((FOLDER / "key.json").read_text(encoding="utf-8"))
# Their authors did not train them: the chosen replies are lost (token accuracy 0.95 to 0.27, 0.98
# to 0.67), which is what they are accused of.
DAMAGED = {"blind_b.aare", "blind_a.ebro"}
pytestmark = pytest.mark.filterwarnings("default")  # a warning does not end a run of theirs
RUNS = [f"{file}.{name}" for file, author in KEY.items() for name in author["odd"]]


def make(run: str):
    file, name = run.split(".")
    return importlib.import_module(f"{suspects.__name__}.{file}").ODD[name]()


@pytest.fixture(autouse=True)
def walls(monkeypatch, tmp_path):
    """The runs make folders, and ask no hub."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("run", cases(RUNS, lambda run: run.split(".")[0]))
def test_a_suspect_is_accused_only_where_it_is_damaged(run):
    trainer = make(run)
    ride = diagnose.watching(trainer)
    with contextlib.redirect_stdout(io.StringIO()), ride:
        trainer.train()
    causes = {one.key for one in ride.report.causes}
    assert bool(causes) == (run in DAMAGED), ride.report
    assert causes <= {"margin_by_pushing_down", "margin_saturated", "rate_too_high"}


def test_every_run_has_a_reason_and_each_file_is_there():
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert files == KEY.keys()
    for file, author in KEY.items():
        module = importlib.import_module(f"{suspects.__name__}.{file}")
        assert module.ODD.keys() == author["odd"].keys()
        assert all(case["why"] for case in author["odd"].values())
