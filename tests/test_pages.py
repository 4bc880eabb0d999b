"""What a reader sees in JupyterLab, in a real browser; skipped where there is none.

Every copy is untrusted, as a downloaded notebook is.
"""

import json
import shutil

import pytest
from course_command import ROOT
from lab_server import CHROMIUM, browser_page, fresh_course, lab_on
from nbformat import v4

from course_utils import page as blocks
from course_utils.exercises.outline import outline
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.page import State

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
STEMS = [entry.stem for entry in outline()]

# Known and open: code lines of 95 characters or more, and one table of lesson 04; these scroll.
SCROLLS = "scrollable-region-focusable"
WIDE_TABLES = {"04_verl_collapse": 1}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return fresh_course(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def address(course):
    with lab_on(course) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with browser_page() as page:
        yield page


def open_notebook(page, address: str, path: str) -> None:
    """Open a notebook in a workspace of its own and wait for its first heading."""
    name = path.replace("/", "-").removesuffix(".ipynb")
    page.goto(f"{address}/lab/workspaces/{name}/tree/{path}?reset")
    page.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1")
    page.wait_for_function("window.jupyterapp !== undefined")


def test_the_landing_page_is_lesson_00_without_launcher_or_news(address, browser):
    browser.goto(address)
    browser.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1")
    assert "notebooks/00_start_here.ipynb" in browser.url
    assert browser.locator(".jp-Launcher").count() == 0
    assert browser.locator(".Toastify__toast").count() == 0
    folders = browser.locator(".jp-BreadCrumbs").inner_text()
    assert "notebooks" in folders  # and one level up are solutions and README


def write_cell(page, marker: str, text: str) -> None:
    """Replace the source of the one code cell that holds `marker`."""
    page.evaluate(
        """([marker, text]) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            const cell = notebook.widgets.find(w => w.model.type === 'code'
                && w.model.sharedModel.getSource().includes(marker));
            cell.model.sharedModel.setSource(text);
        }""",
        [marker, text],
    )


def run_cell(page, marker: str) -> str:
    """Run the code cell that holds `marker`; returns the text of its outputs."""
    return page.evaluate(
        """async (marker) => {
            const panel = window.jupyterapp.shell.currentWidget;
            const index = panel.content.widgets.findIndex(w => w.model.type === 'code'
                && w.model.sharedModel.getSource().includes(marker));
            panel.content.activeCellIndex = index;
            panel.content.deselectAll();
            await panel.context.sessionContext.ready;
            await window.jupyterapp.commands.execute('notebook:run-cell');
            return panel.content.widgets[index].node.querySelector('.jp-OutputArea')?.innerText;
        }""",
        marker,
    )


def test_lesson_00_is_solved_through_a_wrong_answer_a_hint_and_a_pass(address, browser):
    open_notebook(browser, address, "notebooks/00_start_here.ipynb")
    run_cell(browser, "MODEL =")
    run_cell(browser, 'start("00"')
    stub = "def mean_of"
    write_cell(browser, stub, "def mean_of(a, b):\n    return (a + b) / 2")
    run_cell(browser, stub)
    wrong = run_cell(browser, "ex.MEAN.check(")
    assert "✗" in wrong and "why it matters" in wrong
    write_cell(browser, "MODEL =", "ex.MEAN.hint()")
    assert "Hint 1 of" in run_cell(browser, "ex.MEAN.hint()")
    right = "def mean_of(a, b):\n    return ((a.double() + b.double()) / 2).to(a.dtype)"
    write_cell(browser, stub, right)
    run_cell(browser, stub)
    passed = run_cell(browser, "ex.MEAN.check(")
    assert "passed" in passed and "✗" not in passed


@pytest.fixture(scope="module")
def solved(course):
    """The solved notebooks, as they are read online."""
    for stem in STEMS:
        shutil.copy2(ROOT / "solutions" / f"{stem}.ipynb", course / "solutions")
    return course / "solutions"


@pytest.mark.parametrize("stem", STEMS)
def test_a_solved_page_shows_alt_texts_and_no_further_output_wider_than_itself(
    stem, solved, address, browser
):
    open_notebook(browser, address, f"solutions/{stem}.ipynb")
    browser.wait_for_timeout(500)
    seen = browser.evaluate(
        """() => {
            const outputs = [...document.querySelectorAll('.jp-OutputArea-output')];
            const images = [...document.querySelectorAll('.jp-Notebook img')];
            return {
                wide: outputs.filter(o => o.scrollWidth > o.clientWidth + 2)
                             .map(o => o.innerText.slice(0, 80)),
                blind: images.filter(i => !(i.alt || '').trim()).length,
                images: images.length,
            };
        }"""
    )
    num_figures = json.dumps(read_notebook(solved / f"{stem}.ipynb")).count("<figure>")
    assert seen["images"] >= num_figures
    assert seen["blind"] == 0
    assert len(seen["wide"]) <= WIDE_TABLES.get(stem, 0), seen["wide"]


def axe_findings(page) -> dict[str, int]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, context=".jp-Notebook").response["violations"]
    return {violation["id"]: len(violation["nodes"]) for violation in found}


@pytest.fixture(scope="module")
def labs_own(course, address, browser) -> set[str]:
    """What axe finds in a notebook that holds nothing of ours: JupyterLab's own."""
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("1 + 1"), v4.new_code_cell("2")]
    write_notebook(course / "notebooks" / "plain.ipynb", v4.new_notebook(cells=cells))
    open_notebook(browser, address, "notebooks/plain.ipynb")
    return set(axe_findings(browser))


@pytest.mark.parametrize("stem", STEMS)
def test_axe_finds_nothing_that_is_ours(stem, solved, address, browser, labs_own):
    open_notebook(browser, address, f"solutions/{stem}.ipynb")
    found = axe_findings(browser)
    assert set(found) - labs_own <= {SCROLLS}


def every_block() -> str:
    """Every building block of a page, with a name that is too long for its table."""
    details = (("saw", "nan"), ("try next", "a smaller step"))
    boxes = [blocks.box(state, f"{state} box", blocks.lines(("loss nan",))) for state in State]
    cards = [blocks.card(state, "C1", "it", found="inf", details=details) for state in State]
    named = tuple(f"actor/some_quantity_of_number_{number}" for number in range(9))
    rest = [blocks.line(State.BAD, "it", details), blocks.preformatted(("loss inf",))]
    return "".join([*boxes, *cards, *rest, blocks.table(named, [("nan",) * 9])])


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_every_block_fits_its_cell_and_can_be_read_in_both_themes(theme, tmp_path, browser):
    course, html = fresh_course(tmp_path), every_block()
    output = v4.new_output("display_data", {"text/html": html, "text/plain": "blocks"})
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("1 + 1", outputs=[output])]
    write_notebook(course / "notebooks" / "blocks.ipynb", v4.new_notebook(cells=cells))
    with lab_on(course, theme=theme) as address:
        open_notebook(browser, address, "notebooks/blocks.ipynb")
        shown = browser.locator(".jp-RenderedHTML.jp-OutputArea-output")
        dark = browser.evaluate("document.body.dataset.jpThemeLight") == "false"
        assert dark == theme.endswith("Dark")
        assert shown.evaluate("e => e.scrollWidth <= e.clientWidth + 2")
        assert shown.locator("[style*=border-left]").count() == 2 * len(State)
        assert "color-contrast" not in axe_findings(browser)
