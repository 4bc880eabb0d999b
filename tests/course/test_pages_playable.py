"""In a real browser: a click flips a bit, and the page shows the number that it then is."""

import pytest
from lab_pages import READY, command
from lab_server import CHROMIUM
from nbformat import v4

from course_utils.notebook.files import write_notebook

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
SOURCE = "from course_utils.concepts import lesson_01\n\nlesson_01.{}()"


def test_a_reader_flips_a_bit_and_moves_the_log_ratio(lab_course, lab, browser):
    pytest.importorskip("ipywidgets", reason="no ipywidgets here: controls are not tried")
    cells = [v4.new_code_cell(SOURCE.format(n)) for n in ("flip_bits", "where_exp_overflows")]
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
