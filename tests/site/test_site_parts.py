"""How the site converts a lesson's badges and the documents, without building it."""

import importlib
import sys

import nbformat
import pytest
from course_command import ROOT

from course_utils.notebook.frame import START


@pytest.fixture
def part(monkeypatch):
    """A module of the site by its name."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs" / "site")])
    return importlib.import_module


def test_a_lesson_offers_where_it_opens_and_both_notebooks(part):
    badge = "[![Open in Colab](https://example.org/badge.svg)](https://example.org/03.ipynb)"
    cell = nbformat.v4.new_markdown_cell(f"the way\n\n{badge}", id=START)
    part("lessons")._offer(cell, "03_reward_nan")
    assert "[Open in Colab](https://example.org/03.ipynb)" in cell.source
    assert "badge.svg" not in cell.source
    for folder in ("unsolved", "solved"):
        assert f"<{folder}/03_reward_nan.ipynb>" in cell.source


def test_documents_are_found_and_their_links_lead_to_pages(part, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "LOG.md").write_text("[then](then_and_now.md#grpo) [03](../solutions/03_a.ipynb)")
    for name in ("then_and_now", "zebra", "apes"):
        (docs / f"{name}.md").write_text(f"# {name}")
    names = part("papers").stage_papers(docs, tmp_path)
    assert names == ["then_and_now", "apes", "zebra", "LOG"]
    log = (tmp_path / "LOG.md").read_text()
    assert log == "[then](then_and_now.md#grpo) [03](lessons/03_a.ipynb)"
    (docs / "diagnosis.md").write_text("# which instrument sees which fault")
    assert part("papers").stage_papers(docs, tmp_path)[0] == "diagnosis"
