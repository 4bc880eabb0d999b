"""What happens in JupyterLab when a reader types, runs, stops and restarts, in a real browser.

Every copy is untrusted, as a downloaded notebook is. Lessons run on their fewest steps.
"""

import pytest
from lab_pages import (
    activate_cell,
    command,
    open_notebook,
    output_of,
    run_all,
    run_cell,
    write_cell,
)
from lab_server import CHROMIUM
from whole import cases

from course_utils.exercises.outline import outline

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
STEMS = [entry.stem for entry in outline()]


def test_lesson_00_is_solved_through_a_wrong_answer_a_hint_and_a_pass(lab, browser):
    open_notebook(browser, lab, "notebooks/00_start_here.ipynb")
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


@pytest.mark.parametrize("stem", cases(STEMS))
def test_run_all_goes_through_an_unsolved_lesson_without_an_error(stem, lab_course, lab, browser):
    text = (lab_course / "notebooks" / f"{stem}.ipynb").read_text()
    copy = lab_course / "notebooks" / f"whole_{stem}.ipynb"  # with a kernel of its own
    copy.write_text(text.replace("FAST = False", "FAST = True"))
    open_notebook(browser, lab, f"notebooks/{copy.name}")
    cells = run_all(browser)
    assert [cell["count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [cell for cell in cells if cell["errors"] or cell["stderr"]]
    command(browser, "kernelmenu:shutdown")


TRAIN = """\
from transformers import TrainerCallback
from course_utils.reproductions.lesson_03.reward_model import reward_trainer
class Tell(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 1:
            print("the first step is done")
healthy = reward_trainer(model="tiny", dtype="float32", callbacks=[Tell()])
healthy.args.max_steps = {steps}
healthy.train()
print("trained")"""
IDLE = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
ANSWER = """\
def dead_parameters(model):
    trained = [(n, w) for n, w in model.named_parameters() if w.requires_grad]
    return [n for n, w in trained if not w.isfinite().all()]"""


@pytest.fixture(scope="module")
def training(lab, browser):
    """Lesson 03 with its first exercise passed, in the middle of a long run."""
    open_notebook(browser, lab, "notebooks/03_reward_nan.ipynb")
    run_cell(browser, "MODEL =")
    run_cell(browser, 'start("03"')
    write_cell(browser, "def dead_parameters", ANSWER)
    run_cell(browser, "def dead_parameters")
    assert "passed" in run_cell(browser, "ex.DEAD.check(")

    def train():
        write_cell(browser, "healthy = reward_trainer", TRAIN.format(steps=1_000_000))
        activate_cell(browser, "healthy = reward_trainer")
        command(browser, "notebook:run-cell", wait=False)
        done = ".jp-Cell.jp-mod-active .jp-OutputArea >> text=the first step is done"
        browser.wait_for_selector(done, timeout=180_000)
        return browser

    return train


def test_a_stopped_run_says_so_shortly_and_the_cell_runs_again(training):
    page = training()
    command(page, "notebook:interrupt-kernel")
    page.wait_for_selector(".jp-Cell.jp-mod-active >> text=Stopped in line")
    said = output_of(page)
    assert "Stopped in line 9 of this cell." in said
    assert len(said) < 400 and "Traceback" not in said
    page.wait_for_function(IDLE)  # what is asked for before is aborted with the stopped cell
    write_cell(page, "healthy = reward_trainer", TRAIN.format(steps=1))
    assert run_cell(page, "healthy = reward_trainer").strip().endswith("trained")


def test_a_kernel_restarted_in_a_run_takes_passed_answers_up_again(training):
    page = training()
    command(page, "notebook:restart-kernel", wait=False)
    page.locator(".jp-Dialog button", has_text="Restart").click()
    page.wait_for_selector(".jp-Dialog", state="detached")
    run_cell(page, "MODEL =")
    run_cell(page, 'start("03"')
    write_cell(page, "healthy = reward_trainer", "# healthy = reward_trainer\nex.resume()")
    said = run_cell(page, "ex.resume()")
    assert "your answer was made again from its source, and passes" in said
    assert "Go on at exercise 03." in said
