"""`course run` executes whole notebooks, says how they ended, and leaves no process behind.

About 30 s: each run starts at least one kernel.
"""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest
from fake_course import FIXTURES, answer, cell_of, cli, edit
from nbformat import v4

from course_utils.commands import progress_line, run
from course_utils.errors import NotSaved
from course_utils.files.saving import new_folder
from course_utils.notebook.execute import Job
from course_utils.notebook.files import read_notebook

lessons_90_and_91, unbuilt, course = FIXTURES

WAIT_S = 60  # far more than is needed; a test that reaches it has failed


def summary_of(out):
    return json.loads((out / "summary.json").read_text())


def insert(path, source):
    """Put a code cell after the parameters of the notebook at `path`."""
    edit(path, lambda notebook: notebook.cells.insert(2, v4.new_code_cell(source)))


def test_solutions_run_in_parallel_and_get_all_points(course, tmp_path):
    out = tmp_path / "out"
    result = cli("run", "--solutions", "--jobs", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert "6 of 6 points" in result.stdout and "90_fake: cell 3 of 10" in result.stderr
    ended = [line.split()[0] for line in result.stderr.splitlines() if "ran to its end" in line]
    assert ended == ["91_other", "90_fake"]  # the short ones last
    assert [lesson["lesson"] for lesson in summary_of(out)["lessons"]] == ["90_fake", "91_other"]
    assert cell_of(read_notebook(out / "90_fake.ipynb"), "check", "90.1").outputs
    assert not course.progress_path.exists()


def test_unsolved_notebooks_run_to_their_end_with_their_parameters(course):
    result = cli("run", "90", "-p", "SEED", "7", "-p", "FAST", "yes")
    assert result.exit_code == 0 and "0 of 4 points" in result.stdout
    out = course.root / "runs" / "001"
    assert read_notebook(out / "90_fake.ipynb").cells[-1].outputs[0].text == "seed 7\n"
    assert summary_of(out)["parameters"] == {"SEED": "7", "FAST": "yes"}
    assert new_folder(course.root / "runs").name == "002"


def test_an_endless_cell_and_a_dead_kernel_fail_their_own_notebook_only(course, tmp_path):
    insert(course.solved_path("90_fake"), "while True:\n    pass")
    insert(course.solved_path("91_other"), "import os\nos.abort()")
    result = cli("run", "--solutions", "--jobs", 2, "--cell-limit", 2, "--out", tmp_path / "out")
    assert result.exit_code == 1
    [first, second] = summary_of(tmp_path / "out")["lessons"]
    assert first["problems"] == ["cell 3: did not finish within 2 s"]
    assert second["problems"][0].startswith("cell 3: the kernel died here")
    assert "91_other failed: cell 3: the kernel died" in result.stdout


def test_a_notebook_that_takes_too_long_is_stopped(course, tmp_path):
    insert(course.solved_path("91_other"), "import time\ntime.sleep(999)")
    result = cli("run", "91", "--solutions", "--limit", 3, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "the notebook did not finish within 3 s and was stopped here" in result.stdout


def test_strict_turns_a_missing_answer_into_a_failure(course, tmp_path):
    result = cli("run", "91", "-p", "STRICT", "true", "--out", tmp_path / "out")
    assert result.exit_code == 1 and "NotPassed: 91.1" in result.stdout


def test_a_solution_without_full_points_is_a_failure(course, tmp_path):
    edit(course.solved_path("91_other"), lambda notebook: answer(notebook, "91.1", "answer = 41"))
    result = cli("run", "91", "--solutions", "--out", tmp_path / "out")
    assert result.exit_code == 1 and "has 0 of 2 points" in result.stdout


def not_a_lesson(course):
    return ["77"], "there is no lesson '77'"


def unknown_parameter(course):
    return ["-p", "SEEDS", "1", "90"], "has no parameter 'SEEDS'"


def a_word_for_a_number(course):
    return ["-p", "SEED", "many", "90"], "'many' is no value for SEED"


def parameter_of_another_lesson(course):
    return ["-p", "SEED", "1"], "91_other.ipynb has no parameter 'SEED'"


def no_notebook(course):
    course.student_path("91_other").unlink()
    return [], "91_other.ipynb does not exist"


def cut_off(course):
    path = course.student_path("91_other")
    path.write_text(path.read_text()[:300])
    return [], "its JSON breaks at line"


def another_lessons_notebook(course):
    course.student_path("91_other").write_bytes(course.student_path("90_fake").read_bytes())
    return [], "91_other.ipynb holds 90_fake"


def out_with_other_files(course):
    return ["--out", course.notebooks], "holds files that are not from an earlier run"


def out_is_a_file(course):
    return ["--out", course.source_path("90_fake")], "90_fake.py is a file"


def out_below_a_file(course):
    return ["--out", course.source_path("90_fake") / "x"], "could not be written: Not a directory"


@pytest.mark.parametrize(
    "case",
    [
        not_a_lesson,
        unknown_parameter,
        a_word_for_a_number,
        parameter_of_another_lesson,
        no_notebook,
        cut_off,
        another_lessons_notebook,
        out_with_other_files,
        out_is_a_file,
        out_below_a_file,
    ],
)
def test_bad_input_is_told_before_anything_starts(case, course, monkeypatch):
    monkeypatch.setattr(run, "execute", lambda *_, **__: pytest.fail("something was started"))
    arguments, message = case(course)
    result = cli("run", *arguments)
    assert result.exit_code == 2 and message in result.stderr
    assert "why:" in result.stderr and "fix:" in result.stderr
    assert not list(course.root.glob("runs/*/*.ipynb"))


def test_a_disk_that_fills_up_ends_the_run_with_what_is_finished(course, tmp_path, monkeypatch):
    calls, out, save = [], tmp_path / "out", run.save

    def fills_up(path, text):
        calls.append(path)
        if len(calls) == 3:  # after the first notebook
            raise NotSaved(f"{path}: No space left on device", why="full", fix="free some")
        save(path, text)

    monkeypatch.setattr(run, "save", fills_up)
    result = cli("run", "91", "--solutions", "--out", out)
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    assert read_notebook(out / "91_other.ipynb").cells[-1].outputs


def test_a_notebook_that_cannot_be_written_is_a_failure(course, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.json").write_text("{}")
    (out / "91_other.ipynb").symlink_to("/dev/full")
    result = cli("run", "91", "--solutions", "--out", out)
    assert result.exit_code == 1 and "No space left on device" in result.stdout


@pytest.fixture
def started(course, tmp_path):
    """A run in its own process, inside an endless cell, with all processes it has started."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    reached, out = tmp_path / "reached", tmp_path / "out"
    os.mkfifo(reached)
    insert(course.solved_path("91_other"), f"open({str(reached)!r}, 'w')\nwhile True:\n    pass")
    insert(course.solved_path("91_other"), "print('here')")
    command = [sys.executable, "-c", "from course_utils.commands import main; main()"]
    with subprocess.Popen(
        [*command, "run", "91", "--solutions", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"TMPDIR": str(tmp_path)},  # it may be killed
    ) as process:
        reached.open().close()  # waits until the endless cell has opened the other end
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2  # the child and its kernel
        yield process, children, out
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_every_process_and_keeps_partial_outputs(started, tmp_path, how):
    process, children, out = started
    process.send_signal(how)
    _, stderr = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130 and stderr.endswith("no process is left.\n")
    assert "Traceback" not in stderr
    _, alive = psutil.wait_procs(children, timeout=WAIT_S)
    assert not alive
    assert read_notebook(out / "91_other.ipynb").cells[2].outputs[0].text == "here\n"
    assert not list(tmp_path.glob("tmp*"))  # its temporary folder


def test_no_process_outlives_a_run_that_was_killed(started):
    process, children, _ = started
    process.kill()
    _, alive = psutil.wait_procs(children, timeout=WAIT_S)
    assert not alive


def test_a_terminal_gets_one_line_that_advances(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    line = progress_line.CellProgress()
    job = Job("03", tmp_path, tmp_path, tmp_path, num_cells=9)
    line.on_cell(job, 8)
    line.on_cell(job, 9)
    line.clear()
    assert capsys.readouterr().err.split("\r")[1:3] == ["03: cell 8 of 9", "03: cell 9 of 9"]


def test_help_imports_neither_torch_nor_nbformat():
    code = """
import sys
from course_utils.commands.group import course
course(["--help"], standalone_mode=False)
sys.exit(any(name in sys.modules for name in ("torch", "nbformat", "IPython", "papermill")))
"""
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
