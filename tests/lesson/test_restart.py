"""A restarted kernel finds every passed answer again, and never contradicts the progress table.

Real kernels in a scratch folder, on the two small lessons of `fake_course`; no torch.
"""

import os

import fake_course
import pytest
from jupyter_client.manager import KernelManager

lessons_90_and_91 = fake_course.lessons_90_and_91

START = "from course_utils.lesson import TODO, start\nex = start('90')"
DOUBLE = "def double(x):\n    return 2 * x"
CHECK = "ex.DOUBLE.check(double)"
USE = "print('used', ex.DOUBLE.answer and ex.DOUBLE.answer(4))"
IS_PASSED = "print('table', ex.progress().rows[0][3])"


class Notebook:
    """A kernel that cells are run in, one after the other; it can be restarted."""

    def __init__(self, folder, fakes) -> None:
        path = os.pathsep.join([str(fakes), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {k: v for k, v in os.environ.items() if k != "COURSE_PROGRESS"}
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(folder), env=env | {"PYTHONPATH": path})
        self.connect()

    def connect(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, *cells: str) -> str:
        """What the cells print and show; an error is printed as its name."""
        return "".join(map(self._run, cells))

    def _run(self, cell: str) -> str:
        shown = []

        def keep(message) -> None:
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                shown.append(content["text"])
            elif kind in ("display_data", "execute_result"):
                shown.append(content["data"].get("text/plain", "") + "\n")
            elif kind == "error":
                shown.append(f"{content['ename']}: {content['evalue']}\n")

        self.client.execute_interactive(cell, timeout=60, output_hook=keep)
        return "".join(shown)

    def restart(self) -> str:
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self.connect()
        return self.run(START)

    def shutdown(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory, lessons_90_and_91):
    """Two kernels in one folder, which every test makes empty."""
    folder = tmp_path_factory.mktemp("restart")
    notebooks = [Notebook(folder, lessons_90_and_91) for _ in range(2)]
    yield folder, notebooks
    for one in notebooks:
        one.shutdown()


@pytest.fixture
def folder(kernels):
    folder, notebooks = kernels
    for path in folder.iterdir():
        path.unlink()
    for one in notebooks:
        assert one.run("%reset -f", START) == ""
    return folder


@pytest.fixture
def notebook(kernels, folder):
    return kernels[1][0]


@pytest.fixture
def other(kernels, folder):
    return kernels[1][1]


def test_a_passed_answer_is_made_again_and_agrees_with_the_table(notebook):
    assert "passed" in notebook.run(DOUBLE, CHECK)
    notebook.restart()
    said = notebook.run(USE)
    assert "90.1 Double: your answer was made again from its source, and passes." in said
    assert "used 8" in said
    assert "table passed" in notebook.run(IS_PASSED)
    assert notebook.run(USE) == "used 8\n", "the second use needs no second making"


def test_resume_makes_all_of_them_and_names_where_to_go_on(notebook):
    notebook.run(DOUBLE, CHECK)
    notebook.restart()
    said = notebook.run("ex.resume()")
    assert "made again" in said and "Go on at exercise 90.2 Limit" in said
    assert notebook.run(USE) == "used 8\n"
    notebook.run("ex.LIMIT.check(65504)")
    notebook.restart()
    said = notebook.run("ex.resume()")
    assert said.count("made again") == 2 and "All of lesson 90 is passed" in said
    assert notebook.run("print(ex.LIMIT.answer, double(1))") == "65504 2\n"


def test_a_local_variable_named_as_a_variable_of_the_notebook_keeps_nothing_of_it(notebook):
    local = "def double(x):\n    rest = [x for x in (x,)]\n    return 2 * rest[0] * factor"
    notebook.run("posted = dict(a=1)", "rest = [name for name in posted]", "factor = 1")
    assert "passed" in notebook.run(local, CHECK)
    notebook.restart()
    said = notebook.run(USE)
    assert "made again from its source, and passes." in said and "NameError" not in said
    assert "used 8" in said


def test_a_prediction_is_shown_again_and_agrees_with_what_is_recalled(notebook):
    assert "No prediction yet" in notebook.run("ex.GUESS.predict(TODO)")
    notebook.run('ex.GUESS.predict("b")')
    notebook.restart()
    said = notebook.run("ex.GUESS.predict(TODO)")
    assert "> b) that" in said and "No prediction yet" not in said


@pytest.mark.parametrize("then", ["ex.DOUBLE.check(TODO)", "ex.DOUBLE.check(lambda x: 3 * x)"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_todo_or_a_wrong_answer_afterwards_takes_nothing_away(notebook, then, restarted):
    notebook.run(DOUBLE, CHECK)
    if restarted:
        notebook.restart()
    notebook.run("double = lambda x: 3 * x", then)
    assert "used 8" in notebook.run(USE)
    assert "table passed" in notebook.run(IS_PASSED)
    assert notebook.run("print(double(1))") == "3\n", "her new function keeps its name"


def test_helpers_and_imports_of_other_cells_come_back_with_the_answer(notebook):
    cells = (
        "import math as m\nfrom operator import mul",
        "FACTOR = 2\ndef times(a, b):\n    return int(m.fabs(mul(a, b)))",
        "class Doubler:\n    def of(self, x):\n        return times(FACTOR, x)",
        "def my_own_name(x):\n    return Doubler().of(x)",
        "double = my_own_name",
    )
    assert "passed" in notebook.run(*cells, CHECK)
    notebook.restart()
    assert "used 8" in notebook.run(USE)


def test_a_star_import_comes_back_with_the_answer(notebook):
    cells = "from math import *", "def double(x):\n    return int(fabs(2 * x))"
    assert "passed" in notebook.run(*cells, CHECK)
    notebook.restart()
    assert "used 8" in notebook.run(USE)


@pytest.mark.parametrize(
    "cell",
    [
        "limit, other = 65504, 1",
        "limit = 65503\nlimit += 1",
        "print('a long run'); limit = int(65504.0)",
        "with open('ran', 'a') as f: limit = 65498 + f.write('a run') + 1",
        "for limit in range(65505): pass",
    ],
)
def test_a_value_comes_back_as_it_was_without_running_its_cell_again(notebook, folder, cell):
    assert "passed" in notebook.run(cell, "ex.LIMIT.check(limit)")
    (folder / "ran").unlink(missing_ok=True)
    notebook.restart()
    assert "65504" in notebook.run("print(ex.LIMIT.answer)")
    assert not (folder / "ran").exists()


def test_an_answer_that_needs_a_cell_above_says_so_and_works_once_that_cell_has_run(notebook):
    needs = "def slow():\n    return [2]\nweights = slow()"
    notebook.run(needs, "def double(x):\n    return weights[0] * x", CHECK)
    notebook.restart()
    said = notebook.run(USE)
    assert "NameError: name 'weights' is not defined" in said
    assert "course's answer is used" in said and "your points stay" in said
    assert "table passed" in notebook.run(IS_PASSED)
    assert "Go on at exercise 90.2" in notebook.run("ex.resume()")
    assert "made again" in notebook.run(needs, USE)


def test_an_answer_without_a_source_is_said_to_have_none(notebook):
    notebook.run("ex.DOUBLE.check(lambda x: 2 * x)")
    assert "used 8" in notebook.run(USE)
    notebook.restart()
    said = notebook.run(USE)
    assert "its source was not kept" in said and "answer is used until you run" in said
    assert "table passed" in notebook.run(IS_PASSED)


def test_the_courses_own_answer_is_found_again_though_its_source_asks_for_itself(notebook):
    start = START.replace("90", "00")
    taken = "mean_of = None or ex.MEAN.answer", "ex.MEAN.check(mean_of)"
    assert "passed" in notebook.run(start, *taken)
    notebook.restart()
    said = " ".join(notebook.run(start, "print('used', ex.MEAN.answer)").split())
    assert said.count("its source was not kept") == 1 and "used <function" in said


def test_a_kept_source_that_no_longer_passes_is_said_to_fail(notebook, folder):
    notebook.run(DOUBLE, CHECK)
    progress = folder / ".progress.json"
    progress.write_text(progress.read_text().replace("2 * x", "3 * x"))
    notebook.restart()
    said = notebook.run(USE)
    assert "its kept source was checked again: wrong" in said
    assert "course's answer is used" in said


def test_a_damaged_file_is_set_aside_and_the_answer_of_this_kernel_is_still_used(notebook, folder):
    notebook.run(DOUBLE, CHECK)
    (folder / ".progress.json").write_text("{")
    said = notebook.run(USE)
    assert "kept as .progress.damaged-1.json" in said
    assert "check it again" in said and "used 8" in said
    assert "table not attempted" in notebook.run(IS_PASSED)
    notebook.run(CHECK)
    assert notebook.run(USE, IS_PASSED) == "used 8\ntable passed\n"


def test_a_damaged_file_leaves_a_restarted_kernel_with_the_courses_answer(notebook, folder):
    notebook.run(DOUBLE, CHECK)
    (folder / ".progress.json").write_text("\x00")
    notebook.restart()
    assert "not passed yet, so the course's answer is used" in notebook.run(USE)
    assert "table not attempted" in notebook.run(IS_PASSED)
    assert "Go on at exercise 90.1" in notebook.run("ex.resume()")


def test_two_notebooks_share_what_is_passed_and_each_keeps_its_own_answer(notebook, other):
    notebook.run(DOUBLE, CHECK)
    assert "made again" in other.run(USE)
    other.run("def double(x):\n    return x + x + 0.0", CHECK)
    assert other.run(USE) == "used 8.0\n"
    assert notebook.run(USE) == "used 8\n"
    notebook.restart()
    assert "used 8.0" in notebook.run(USE), "the answer that passed last is the one that is kept"
    other.run("ex.LIMIT.check(65504)")
    assert "All of lesson 90 is passed" in notebook.run("ex.resume()")


def test_a_wrong_answer_in_one_notebook_takes_nothing_from_the_other(notebook, other):
    notebook.run(DOUBLE, CHECK)
    other.run("def double(x):\n    return x", CHECK)
    assert "used 8" in other.run(USE)
    assert "table passed" in other.run(IS_PASSED)


def test_a_stopped_cell_says_so_in_a_few_lines_and_keeps_what_was_passed(notebook):
    notebook.run(DOUBLE, CHECK)
    stop = "import _thread, time\n_thread.interrupt_main()\ntime.sleep(30)"
    said = notebook.run(stop)
    assert said.startswith("Stopped in line ") and "of this cell." in said
    assert "Traceback" not in said and "KeyboardInterrupt" not in said and len(said) < 300
    assert notebook.run(USE) == "used 8\n"
    assert "ZeroDivisionError" in notebook.run("1 / 0"), "other errors are shown as ever"
