"""Every link leads somewhere: in the notebooks, the README, the docs, and where readers get them.

No network: of a link to elsewhere only its form is looked at.
"""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from course_command import COURSE, ROOT
from markdown_it import MarkdownIt

from course_utils.exercises.outline import outline
from course_utils.notebook.files import read_notebook

PAPERS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
DOCUMENTS = [*PAPERS, *sorted(ROOT.glob("docs/*.md"))]
NOTEBOOKS = sorted([*ROOT.glob("notebooks/[0-9]*.ipynb"), *ROOT.glob("solutions/[0-9]*.ipynb")])
LESSONS = outline()


class _Targets(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs) -> None:
        wanted = {"a": "href", "img": "src"}.get(tag)
        self.found += [value for name, value in attrs if name == wanted]


def links(html: str) -> list[str]:
    parser = _Targets()
    parser.feed(html)
    return [to for to in parser.found if not to.startswith("data:")]


def in_markdown(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


def html_of(path: Path) -> str:
    """Everything in a document or notebook that may hold a link, as HTML."""
    if path.suffix == ".md":
        return in_markdown(path.read_text())
    parts = []
    for cell in read_notebook(path).cells:
        if cell.cell_type == "markdown":
            parts.append(in_markdown(cell.source))
        outputs = (output.get("data", {}) for output in cell.get("outputs", []))
        parts += [data["text/html"] for data in outputs if "text/html" in data]
    return "\n".join(parts)


def anchors(path: Path) -> set[str]:
    """What `#...` may name: JupyterLab keeps the words of a heading, GitHub makes them small."""
    headings = re.findall(r"<h\d>(.*?)</h\d>", html_of(path))
    words = [re.sub(r"<[^>]+>", "", heading) for heading in headings]
    if path.suffix == ".ipynb":
        return {heading.replace(" ", "-") for heading in words}
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in words}


def what_is_wrong(link: str, page: Path) -> str | None:
    """Why a link on `page` leads nowhere; None if it does lead somewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        fit = parts.scheme in ("http", "https") and "." in parts.netloc and " " not in link
        return None if fit else "no address that a browser opens"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "no such file"
    if parts.fragment and unquote(parts.fragment) not in anchors(target):
        return "no such heading"
    return None


def broken(page: Path) -> list[str]:
    found = {link: what_is_wrong(link, page) for link in links(html_of(page))}
    return [f"{link}: {wrong}" for link, wrong in found.items() if wrong]


@pytest.mark.parametrize(
    "page", [*DOCUMENTS, *NOTEBOOKS], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_link_leads_somewhere(page):
    assert broken(page) == []


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("[a](99_missing.ipynb)", "no such file"),
        ("[a](#no-heading)", "no such heading"),
        ("[a](there.md#None)", "no such heading"),
        ("[a](mailto:me)", "no address"),
        ('<a href="gone.ipynb">a</a>', "no such file"),
        ("[a](#here) [b](there.md#far-away) ![c](there.md)", None),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, wrong, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n{link}\n")
    (tmp_path / "there.md").write_text("## Far *away*\n")
    found = broken(page)
    assert (wrong in found[0]) if wrong else not found


def test_the_readme_leads_to_every_paper():
    found = links(html_of(ROOT / "README.md"))
    names = {str(page.relative_to(ROOT)) for page in DOCUMENTS[1:]}
    assert names <= set(found)


@pytest.fixture(scope="module")
def started(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("started") / "course"
    subprocess.run([COURSE, "start", folder], check=True, capture_output=True)
    return folder


def test_the_links_hold_in_the_copy_that_a_reader_works_in(started):
    pages = [started / page.relative_to(ROOT) for page in (*DOCUMENTS, *NOTEBOOKS)]
    assert [wrong for page in pages for wrong in broken(page)] == []


@pytest.mark.parametrize("folder", ["notebooks", "solutions"])
@pytest.mark.parametrize("at", range(len(LESSONS)), ids=lambda at: LESSONS[at].number)
def test_a_lesson_begins_and_ends_with_the_way_through_the_course(at, folder):
    cells = read_notebook(ROOT / folder / f"{LESSONS[at].stem}.ipynb").cells
    before, after = LESSONS[max(at - 1, 0) : at], LESSONS[at + 1 : at + 2]
    to_map = LESSONS[:1] if at else ()
    names = [f"{entry.stem}.ipynb" for entry in (*before, *to_map, *after)]
    assert links(in_markdown(cells[0].source)) == names
    minutes = sum(entry.minutes for entry in LESSONS[at + 1 :])
    assert f"about {LESSONS[at].effort}" in cells[0].source
    assert f"{minutes} minutes of the course" in cells[0].source or not after
    onward = after[0] if after else LESSONS[0]
    assert links(in_markdown(cells[-1].source)) == [f"{onward.stem}.ipynb"]


def test_the_map_in_lesson_00_leads_to_every_lesson():
    found = links(html_of(ROOT / "solutions" / f"{LESSONS[0].stem}.ipynb"))
    assert {f"{entry.stem}.ipynb" for entry in LESSONS[1:]} <= set(found)
