"""Whatever a folder holds and whatever a student is called: one result each, and safe files."""

import csv
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from attacks import folders
from classes import GRADE, hand_in, notebook
from fake_course import FAKE_GRADER, FIXTURES, cli

from course_utils.box.kind import NO_SANDBOX_ENV
from course_utils.grading import worker
from course_utils.grading.printable import FORMULA

lessons_90_and_91, unbuilt, course = FIXTURES
PASSIVE = {
    "html",
    "head",
    "meta",
    "title",
    "body",
    "h1",
    "div",
    "span",
    "pre",
    "b",
    "code",
    "p",
    "wbr",
}


@pytest.fixture(autouse=True)
def fake_grader(monkeypatch):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    monkeypatch.setenv(NO_SANDBOX_ENV, "1")  # so that it is taken back afterwards


def graded(tmp_path, *options):
    result = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "out", *options)
    return result, json.loads((tmp_path / "out" / "grades.json").read_text())


@pytest.mark.parametrize("attack", folders.ALL, ids=lambda attack: attack.name)
def test_a_folder_gets_the_results_it_must_have(course, tmp_path, attack):
    (tmp_path / "class").mkdir()
    attack.make(tmp_path / "class", json.dumps(notebook(course)).encode())
    result, grades = graded(tmp_path, "--student", "name")
    counts = [len(grades[kind]) for kind in ("notebooks", "refused", "failed")]
    assert counts == [attack.grades, attack.submissions - attack.grades, 0]
    everything = "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert "the grader's secret" not in everything + result.output
    assert "root:" not in everything + result.output


class Page(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_no_name_reaches_a_page_a_table_or_a_terminal_as_more_than_text(course, tmp_path):
    for name in folders.NAMES:
        hand_in(tmp_path / "class" / name / "n.ipynb", notebook(course))
    result, grades = graded(tmp_path, "--student", "name")
    assert len(grades["notebooks"]) == len(folders.NAMES)
    pages = list((tmp_path / "out" / "feedback").iterdir())
    assert len(pages) == len({page.name.lower() for page in pages}) == len(folders.NAMES)
    for page in pages:
        found = Page(page.read_text())
        assert found.elements <= PASSIVE
        assert found.attributes <= {"lang", "charset", "http-equiv", "content", "style", "class"}
        assert re.fullmatch(r"[A-Za-z0-9_-]+\.html", page.name)
    with (tmp_path / "out" / "grades.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(folders.NAMES) + 1
    assert not [cell for row in rows for cell in row if cell.lstrip().startswith(FORMULA)]
    ElementTree.parse(tmp_path / "out" / "grades.xml")
    seen = result.output + (tmp_path / "out" / "grades.json").read_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e]", seen)


def test_what_a_student_says_in_a_cell_reaches_no_page_as_more_than_text(course, tmp_path):
    data = notebook(course, added="# RAISE")
    data["metadata"]["course"]["version"] = folders.HTML
    data["cells"][0]["attachments"] = {folders.HTML: {"text/html": folders.HTML * 1000}}
    hand_in(tmp_path / "class" / "ada" / f"{folders.HTML.replace('/', '')}.ipynb", data)
    graded(tmp_path)
    for page in (tmp_path / "out" / "feedback").iterdir():
        assert "<script" not in page.read_text() and Page(page.read_text()).elements <= PASSIVE
