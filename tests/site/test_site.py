"""The site as a reader meets it: built once, served from a subfolder, looked at in Chromium.

Skipped where Sphinx or Chromium is missing.
"""

import re
import zipfile
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from course_command import ROOT
from lab_server import CHROMIUM
from site_server import axe_finds
from whole import cases

from course_utils import diagnostics, gemma3, numerics
from course_utils.causes import CAUSES
from course_utils.exercises.outline import outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.files import read_notebook

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
in_browser = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at")

WIDTHS, HEIGHT = (390, 768, 1180), 900
THEMES = ("light", "light", "dark")
FITS = "document.documentElement.scrollWidth <= innerWidth"
LESSONS = [f"lessons/{entry.stem}" for entry in outline()]
PAPERS = [path.stem for path in (ROOT / "docs").glob("*.md")]
PAGES = (
    *("index", "explain", "search", "symptoms/index", "symptoms/nan_shown_as_zero"),
    *("instruments/watch", "lessons/00_start_here", *PAPERS),
)
ROOMS = (diagnostics, gemma3, numerics)
MAX_LESSON = 3_000_000  # bytes, unpacked
MAX_FIRST_VIEW = 300_000  # bytes as they are sent: packed
SEARCH = """query => {
    const [text, terms, excluded, highlights, objects] = Search._parseQuery(query);
    return Search._performSearch(text, terms, excluded, highlights, objects)
        .reverse().map(found => found[0]);
}"""


class _Page(HTMLParser):
    """Links and names of a page, and the comments in code that stand in no fold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.names, self.folds, self.open = [], set(), 0, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        attrs = dict(attrs)
        self.names |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        self.links += [attrs[key] for key in ("href", "src") if attrs.get(key)]
        self.folds += tag == "details"

    def handle_endtag(self, tag) -> None:
        self.folds -= tag == "details"

    def handle_data(self, data) -> None:
        self.open += "" if self.folds else data


def test_every_link_of_every_page_leads_somewhere(site):
    pages = {path: _Page(path.read_text()) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = pages[target].names if target in pages else set()
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in names):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert len(pages) > len(CAUSES) + len(LESSONS)
    assert broken == []


def test_whatever_there_is_has_its_page_and_the_side_bar_leads_there(site):
    links = set(_Page((site / "index.html").read_text()).links)
    instruments = [f"instruments/{name}" for room in ROOMS for name in room.__all__]
    symptoms = [f"symptoms/{key}" for key in CAUSES]
    assert PAPERS and links >= {f"{name}.html" for name in (*LESSONS, *PAPERS)}
    missing = [name for name in (*instruments, *symptoms) if not (site / f"{name}.html").exists()]
    assert missing == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_answers_and_what_the_notebook_folds_are_behind_folds(lesson, site):
    cells = read_notebook(ROOT / "solutions" / f"{lesson.removeprefix('lessons/')}.ipynb").cells
    roles = [course_metadata(cell).get("role") for cell in cells]
    text = (site / f"{lesson}.html").read_text()
    assert text.count(">Show an answer<") == roles.count("answer") + roles.count("solution") > 0
    hidden = [cell for cell in cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert text.count(">Show the code<") == len(hidden)
    assert "your answer" in text and ": your answer" not in _Page(text).open


def test_the_browser_gets_the_commands_own_files(site):
    with zipfile.ZipFile(site / "_static" / "explain.zip") as archive:
        names = archive.namelist()
        assert all(archive.read(name) == (ROOT / name).read_bytes() for name in names)
    held = {path.relative_to(ROOT).as_posix() for path in (ROOT / "course_utils").rglob("*.py")}
    rooms = ("course_utils/causes/", "course_utils/explain/")
    parts = {name for name in held if name.startswith(rooms)}
    assert set(names) == parts | {"course_utils/__init__.py"}


@in_browser
@pytest.mark.parametrize("lesson", cases(LESSONS))
def test_a_lesson_is_under_three_megabytes_and_fits_a_phone(lesson, server, page):
    server.sent.clear()
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    page.goto(f"{server.address}/{lesson}.html", wait_until="networkidle")
    assert 0 < sum(size for _, size in server.sent.values()) < MAX_LESSON
    assert page.evaluate(FITS)
    assert page.evaluate("[...document.images].every(i => i.naturalWidth && i.alt)")


@in_browser
def test_the_first_view_of_the_explain_page_is_small(server, page):
    server.sent.clear()
    page.goto(f"{server.address}/explain.html", wait_until="networkidle")
    assert not any("pyodide" in path for path in server.sent)
    assert 0 < sum(sent for sent, _ in server.sent.values()) < MAX_FIRST_VIEW


@in_browser
def test_search_finds_the_loss_that_no_loss_can_be(server, page):
    page.goto(f"{server.address}/search.html?q=1.19e%2B34")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").evaluate_all("links => links.map(a => a.href)")
    assert any("lessons/03_reward_nan.html" in link for link in found)
    assert any("symptoms/loss-1-19e-34" in link for link in found)


@in_browser
def test_every_symptom_page_is_found_by_the_words_on_it(site, server, page):
    page.goto(f"{server.address}/search.html?q=loss")
    page.wait_for_selector("#search-results li a")
    missed = []
    pages = {path for path in (site / "symptoms").glob("*.html") if path.stem != "index"}
    for path in pages:
        heading = re.search(r"<h1>(.*?)<a", path.read_text())[1]
        words = unescape(re.sub(r"<[^>]+>", "", heading))
        if f"symptoms/{path.stem}" not in page.evaluate(SEARCH, words)[:5]:
            missed.append(words)
    assert len(pages) == len(CAUSES) + len(SYMPTOMS)
    assert missed == []


@in_browser
@pytest.mark.parametrize("name", cases(PAGES))
def test_a_page_fits_every_width_and_axe_finds_nothing(name, server, page):
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    page.goto(f"{server.address}/{name}.html")
    for width, theme in zip(WIDTHS, THEMES, strict=True):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert page.evaluate(FITS), width
        assert width == WIDTHS[1] or axe_finds(page) == {}  # between the two nothing else is shown
