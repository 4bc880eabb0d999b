"""What a reader sees in JupyterLab, in a real browser; skipped without a browser."""

import json
import shutil

import pytest
from course_command import ROOT
from lab_pages import (
    CONTRAST,
    DARK,
    LIGHT,
    READY,
    activate_cell,
    axe_findings,
    command,
    look,
    open_notebook,
    run_cell,
    set_theme,
    write_plain,
)
from lab_server import CHROMIUM
from nbformat import v4
from whole import cases

from course_utils.exercises.outline import outline
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.shown import page as blocks
from course_utils.shown.page import State

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
STEMS = [entry.stem for entry in outline()]
each_page = pytest.mark.parametrize("solved", cases(STEMS), indirect=True)
PLAYABLE = "from course_utils.concepts import lesson_01\n\nlesson_01.{}()"


def test_the_landing_page_is_lesson_00_without_launcher_or_news(lab, browser):
    browser.goto(lab)
    browser.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1")
    assert "notebooks/00_start_here.ipynb" in browser.url
    assert browser.locator(".jp-Launcher").count() == 0
    assert browser.locator(".Toastify__toast").count() == 0
    folders = browser.locator(".jp-BreadCrumbs").inner_text()
    assert "notebooks" in folders  # and one level up are solutions and README


def test_the_map_and_the_way_on_open_the_lesson_they_name(lab, browser):
    open_notebook(browser, lab, "notebooks/00_start_here.ipynb")
    run_cell(browser, "symptom_map()")
    for link, stem in (("03_reward_nan", "03_reward_nan"), ("01 inf or nan", "01_floats")):
        browser.locator(".jp-Notebook:visible").get_by_role("link", name=link).first.click()
        browser.wait_for_selector(f".lm-TabBar-tab.jp-mod-current >> text={stem}.ipynb")
        browser.locator(".lm-TabBar-tabLabel >> text=00_start_here.ipynb").click()


@pytest.fixture(scope="module")
def labs_own(lab_course, lab, browser) -> set[str]:
    """What axe finds in a notebook that holds nothing of ours: JupyterLab's own."""
    write_plain(lab_course / "notebooks" / "plain.ipynb")
    open_notebook(browser, lab, "notebooks/plain.ipynb")
    return set(axe_findings(browser))


@pytest.fixture(scope="module")
def solved(request, lab_course, lab, browser, labs_own):
    """A solved notebook, as it is read online, opened once for all that is looked at in it."""
    source = ROOT / "solutions" / f"{request.param}.ipynb"
    shutil.copy2(source, lab_course / "solutions")
    open_notebook(browser, lab, f"solutions/{source.name}")
    look(browser, width=1180)
    yield read_notebook(source)
    look(browser, width=1180)


@each_page
def test_every_image_is_shown_and_says_what_is_seen(solved, browser):
    seen = look(browser, width=1180)
    assert seen.images >= json.dumps(solved).count("<figure")
    assert seen.blind == 0


@each_page
def test_nothing_is_wider_than_its_cell_in_a_large_window_and_a_small_one(solved, browser):
    large, small = look(browser, width=1180), look(browser, width=900)
    assert (large.outputs, small.outputs) == ([], [])
    assert (large.code, small.code) == ([], [])


@each_page
def test_axe_finds_nothing_that_is_ours_in_either_theme(solved, browser, labs_own):
    look(browser, width=1180)
    light = axe_findings(browser)
    set_theme(browser, DARK)
    dark = axe_findings(browser, **CONTRAST)
    set_theme(browser, LIGHT)
    assert set(light) <= labs_own
    assert dark == {}


@each_page
def test_folded_cells_are_folded_and_the_enter_key_opens_one(solved, browser):
    cells = [c for c in solved.cells if c.metadata.get("jupyter", {}).get("source_hidden")]
    shut = browser.locator(".jp-Notebook .jp-InputPlaceholder")
    assert shut.count() == len(cells)
    if cells:
        activate_cell(browser, cells[0].source)
        browser.evaluate("window.jupyterapp.shell.currentWidget.content.node.focus()")
        browser.keyboard.press("Enter")
        browser.wait_for_selector(".jp-Cell.jp-mod-active .cm-content:visible", timeout=10_000)
        assert shut.count() == len(cells) - 1


def every_block() -> str:
    """Every building block of a page, with a name that is too long for its table."""
    details = (("saw", "nan"), ("try next", "a smaller step"))
    boxes = [blocks.box(state, f"{state} box", blocks.lines(("loss nan",))) for state in State]
    cards = [blocks.card(state, "C1", "it", found="inf", details=details) for state in State]
    named = tuple(f"actor/some_quantity_of_number_{number}" for number in range(6))
    rest = [blocks.line(State.BAD, "it", details), blocks.preformatted(("loss inf",))]
    return "".join([*boxes, *cards, *rest, blocks.table(named, [("nan",) * 6])])


def test_every_block_fits_its_cell_and_can_be_read_in_both_themes(lab_course, lab, browser):
    html = every_block()
    output = v4.new_output("display_data", {"text/html": html, "text/plain": "blocks"})
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("1 + 1", outputs=[output])]
    write_notebook(lab_course / "notebooks" / "blocks.ipynb", v4.new_notebook(cells=cells))
    open_notebook(browser, lab, "notebooks/blocks.ipynb")
    shown = browser.locator(".jp-RenderedHTML.jp-OutputArea-output")
    light = axe_findings(browser, **CONTRAST)
    set_theme(browser, DARK)
    dark = axe_findings(browser, **CONTRAST)
    set_theme(browser, LIGHT)
    assert shown.evaluate("e => e.scrollWidth <= e.clientWidth + 2")
    assert shown.locator("[style*=border-left]").count() == 2 * len(State)
    assert light == dark == {}


def test_a_reader_flips_a_bit_and_moves_the_log_ratio(lab_course, lab, browser):
    pytest.importorskip("ipywidgets", reason="no ipywidgets here: controls are not tried")
    cells = [v4.new_code_cell(PLAYABLE.format(n)) for n in ("flip_bits", "where_exp_overflows")]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    notebook = v4.new_notebook(cells=cells, metadata=kernel)
    write_notebook(lab_course / "notebooks" / "play.ipynb", notebook)
    browser.goto(f"{lab}/lab/workspaces/play/tree/notebooks/play.ipynb?reset")
    browser.wait_for_selector(".jp-Notebook .jp-CodeCell")
    browser.wait_for_function("window.jupyterapp?.shell.currentWidget?.context?.isReady")
    browser.evaluate(READY)  # what runs before its kernel is there never ends
    command(browser, "notebook:run-all-cells", wait=False)
    browser.wait_for_selector("img[alt*='read as float16']")
    assert browser.locator("[title^='bit']").count() == 16
    browser.locator("[title='bit10']").click()
    browser.wait_for_selector("img[alt*='read as float16: +, 31: all ones, not 0, nan']")
    browser.get_by_role("slider").focus()
    browser.keyboard.press("ArrowRight")
    browser.wait_for_selector("img[alt*='At d = 12.5']")
