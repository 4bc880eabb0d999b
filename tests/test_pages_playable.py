"""In a real browser: a click flips a bit, and the page shows the number that it then is."""

import pytest
from lab_server import CHROMIUM, browser_page, fresh_course, lab_on
from nbformat import v4

from course_utils.notebook.files import write_notebook

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
SOURCE = "from course_utils.concepts import lesson_01\n\nlesson_01.{}()"
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells')"


def test_a_reader_flips_a_bit_and_moves_the_log_ratio(tmp_path):
    pytest.importorskip("ipywidgets", reason="no ipywidgets here: controls are not tried")
    course = fresh_course(tmp_path)
    cells = [v4.new_code_cell(SOURCE.format(n)) for n in ("flip_bits", "where_exp_overflows")]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    notebook = v4.new_notebook(cells=cells, metadata=kernel)
    write_notebook(course / "notebooks" / "play.ipynb", notebook)
    with lab_on(course) as address, browser_page() as page:
        page.goto(f"{address}/lab/workspaces/play/tree/notebooks/play.ipynb?reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_function("window.jupyterapp?.shell.currentWidget?.context?.isReady")
        page.evaluate(RUN_ALL)
        page.wait_for_selector("img[alt*='read as float16']")
        assert page.locator("[title^='bit']").count() == 16
        page.locator("[title='bit10']").click()
        page.wait_for_selector("img[alt*='read as float16: +, 31: all ones, not 0, nan']")
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("img[alt*='At d = 12.5']")
