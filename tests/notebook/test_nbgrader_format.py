"""What `course build --nbgrader` writes is nbgrader's own format, for every lesson."""

from collections import Counter

import nbformat
import pytest
from course_command import ROOT
from fake_course import FIXTURES, cli

from course_utils.files.repository import Repository
from course_utils.notebook.lesson_source import load_source
from course_utils.notebook.nbgrader_format import nbgrader_notebook

lessons_90_and_91, unbuilt, course = FIXTURES
REAL = Repository(ROOT)


@pytest.mark.parametrize("stem", REAL.stems())
def test_every_lesson_has_the_cells_that_nbgrader_needs(stem):
    source = load_source(REAL.source_path(stem))
    notebook = nbgrader_notebook(source)
    nbformat.validate(notebook)
    named = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert max(Counter(entry.grade_id for entry in named).values()) == 1
    assert sum(entry.get("points", 0) for entry in named) == source.lesson.points
    for cell in notebook.cells:
        entry = cell.metadata.get("nbgrader", {})
        assert ("### BEGIN SOLUTION" in cell.source) == bool(entry.get("solution"))
        assert ("### BEGIN HIDDEN TESTS" in cell.source) == bool(entry.get("grade"))
        assert not (entry.get("solution") and entry.get("locked"))
        assert entry.get("locked", True) or entry["solution"]


def test_the_hidden_line_raises_for_an_answer_that_is_not_right(course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the progress file goes
    cli("build", "--nbgrader", "91", "--out", tmp_path)
    assert "course_id" in (tmp_path / "nbgrader_config.py").read_text()
    path = tmp_path / "source" / "91_other" / "91_other.ipynb"
    cells = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    exec(hidden := "\n".join(cells), {})
    with pytest.raises(Exception, match="STRICT is True"):
        exec(hidden.replace("answer = 42", "answer = 41"), {})


def test_a_configuration_of_ones_own_is_left_alone(course, tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("mine")
    assert cli("build", "--nbgrader", "90", "91", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "nbgrader_config.py").read_text() == "mine"
    assert len(list(tmp_path.glob("source/*/*.ipynb"))) == 2
