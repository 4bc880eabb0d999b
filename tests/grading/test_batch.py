"""A batch ends with one result for each submission, and loses none, however it is ended."""

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import psutil
import pytest
from classes import COURSE, GRADE, hand_in, notebook, random_class
from fake_course import FAKE_GRADER, FIXTURES, cli

from course_utils.box.kind import NO_SANDBOX_ENV
from course_utils.files.saving import new_folder
from course_utils.grading import batch, worker
from course_utils.grading.result import GraderFailed, load

lessons_90_and_91, unbuilt, course = FIXTURES
WAIT_S = 30


@pytest.fixture(autouse=True)
def fake_grader(monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "COMMAND", FAKE_GRADER)
    monkeypatch.setattr(worker, "START_S", 10.0)
    monkeypatch.setattr(worker, "GRACE_S", 2.0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(NO_SANDBOX_ENV, "1")  # so that it is taken back afterwards


@pytest.fixture
def folder(course, tmp_path):
    """A class of six, all of them right."""
    for number in range(6):
        hand_in(tmp_path / "class" / f"s{number}" / "n.ipynb", notebook(course))
    return tmp_path / "class"


def kept(out) -> dict[str, dict]:
    """What is in the result files, by student; each must be whole."""
    texts = [path.read_text() for path in (out / "results").glob("*.json")]
    return {(data := json.loads(text))["student"]: data for text in texts}


def kinds(out) -> dict[str, str]:
    return {student: data["result"]["kind"] for student, data in kept(out).items()}


def test_a_random_class_with_faults_gets_one_right_result_each(course, tmp_path):
    wanted = random_class(tmp_path / "class", partial(notebook, course), size=30, seed=0)
    result = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "out", "--jobs", 2)
    assert kinds(tmp_path / "out") == wanted
    assert set(wanted.values()) == {"grade", "cannot be graded", "the grader failed"}
    assert result.exit_code == 3
    rows = (tmp_path / "out" / "grades.csv").read_text().splitlines()
    assert len(rows) == 31
    failed = sum(kind == "the grader failed" for kind in wanted.values())
    assert f"{failed} failed here" in result.stdout


def test_the_grader_that_failed_is_tried_three_times_and_again_by_the_next_call(
    course, folder, tmp_path
):
    hand_in(folder / "s1" / "n.ipynb", notebook(course, added="# DIE"))
    hand_in(folder / "s2" / "n.ipynb", notebook(course, added="# DIE ONCE"))
    hand_in(folder / "s3" / "n.ipynb", notebook(course, added="# RAISE"))
    command = (*GRADE, folder, "--out", tmp_path / "out")
    result = cli(*command)
    assert result.exit_code == 3 and "Total: 16 of 16 points; 2 failed here" in result.stdout
    failed = kept(tmp_path / "out")["s1"]["result"]
    assert failed["attempts"] == 3 and failed["reason"].endswith("code -9: the last words")
    assert kept(tmp_path / "out")["s3"]["result"]["reason"] == "OSError: no loopback"
    for student in ("s1", "s3"):
        hand_in(folder / student / "n.ipynb", notebook(course, right=1))
    again = cli(*command)
    assert again.exit_code == 1 and "Total: 20 of 24 points" in again.stdout
    assert again.stderr.count("kept from before") == 4


def test_a_hanging_grader_is_a_failure_of_the_grader_and_the_others_go_on(
    course, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(worker, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr(worker, "START_S", 3.0)
    hand_in(folder / "s0" / "n.ipynb", notebook(course, added="# HANG"))
    result = cli(*GRADE, folder, "--out", tmp_path / "out", "--limit", 1)
    assert result.exit_code == 3 and "20 of 20 points; 1 failed here" in result.stdout


def test_a_notebook_that_names_no_lesson_is_graded_as_the_one_that_is_given(
    course, folder, tmp_path
):
    stripped = notebook(course)
    del stripped["metadata"]["course"]
    hand_in(folder / "s5" / "n.ipynb", stripped)
    command = (*GRADE, folder, "--out", tmp_path / "out")
    result = cli(*command)
    assert result.exit_code == 2 and "name the lesson with --lesson" in str(kept(tmp_path / "out"))
    assert "Total: 20 of 20 points; 1 cannot be graded" in result.stdout
    again = cli(*command, "--lesson", "90")
    assert again.exit_code == 0 and "Total: 24 of 24 points" in again.stdout
    assert cli(*command, "--lesson", "92").exit_code == 2


def test_a_file_that_changed_is_graded_again_and_nothing_else(course, folder, tmp_path):
    command = (*GRADE, folder, "--out", tmp_path / "out")
    assert cli(*command).exit_code == 0
    hand_in(folder / "s4" / "n.ipynb", notebook(course, right=0))
    again = cli(*command)
    assert again.stderr.count("kept from before") == 5
    assert "Total: 20 of 24 points" in again.stdout


def test_a_damaged_result_counts_as_none(folder, tmp_path):
    command = (*GRADE, folder, "--out", tmp_path / "out")
    cli(*command)
    [path] = (tmp_path / "out" / "results").glob("s4-*.json")
    for damage in ("", "{", "[]", '{"path": 3}', '{"path": "s4/n.ipynb"}'):
        path.write_text(damage)
        assert load(path) is None
    assert cli(*command).stderr.count("kept from before") == 5
    assert load(path).result.scores.points == 4


def test_points_that_cannot_be_are_no_result(folder, tmp_path):
    command = (*GRADE, folder, "--out", tmp_path / "out")
    cli(*command)
    [path] = (tmp_path / "out" / "results").glob("s4-*.json")
    path.write_text(path.read_text().replace('"points": 2', '"points": 200'))
    assert load(path) is None


@contextmanager
def started(folder, out, *options) -> Iterator[subprocess.Popen]:
    """`course grade` in a separate process, once its first result is there."""
    command = [*COURSE, *GRADE, str(folder), "--out", str(out), *options]
    how = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, **how) as process:
        deadline = time.monotonic() + WAIT_S
        try:
            while not list(out.glob("results/*.json")):
                assert process.poll() is None and time.monotonic() < deadline, process.stderr.read()
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


@pytest.fixture
def slow(course, tmp_path):
    """A class of twelve that takes a while."""
    for number in range(12):
        data = notebook(course, added="# SLOW")
        hand_in(tmp_path / "slow" / f"s{number}" / "n.ipynb", data)
    return tmp_path / "slow"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_what_was_finished_survives_a_sudden_end_and_no_process_is_left(
    slow, tmp_path, monkeypatch, how
):
    with started(slow, tmp_path / "out") as process:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        _, said = process.communicate(timeout=WAIT_S)
    _, alive = psutil.wait_procs(children, timeout=WAIT_S)
    assert children and not alive
    done = kinds(tmp_path / "out")
    assert 1 <= len(done) < 12 and set(done.values()) == {"grade"}
    if how != signal.SIGKILL:
        assert process.returncode == 130
        assert f"Stopped: {len(done)} of 12 results are kept in {tmp_path / 'out'}" in said
    monkeypatch.setenv("SLOW_S", "0")  # only what is stopped must take a while
    again = cli(*GRADE, slow, "--out", tmp_path / "out")
    assert again.exit_code == 0 and "Total: 48 of 48 points" in again.stdout
    assert again.stderr.count("kept from before") == len(done)


def test_two_calls_do_not_write_into_one_folder(slow, tmp_path):
    with started(slow, tmp_path / "out"):
        result = cli(*GRADE, slow, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "another `course grade` is writing" in result.stderr


def test_a_full_disk_ends_the_batch_and_says_what_is_kept(course, folder, tmp_path):
    # No file may grow beyond 8 KiB, which only the third result does.
    hand_in(folder / "s2" / "n.ipynb", notebook(course, added="# LONG"))
    command, out = [*COURSE, *GRADE, str(folder), "--out"], tmp_path / "out"
    result = subprocess.run(
        [*command, str(out)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )
    assert result.returncode == 3, result.stderr
    assert f"Stopped: 2 of 6 results are kept in {out}" in result.stderr
    assert "could not be written: File too large" in result.stderr
    assert sorted(kinds(out)) == ["s0", "s1"]
    assert not list(out.rglob("*.tmp"))
    assert cli(*GRADE, folder, "--out", out).exit_code == 0


def test_a_folder_that_cannot_be_written_to_is_said_before_anything_is_graded(folder, tmp_path):
    (tmp_path / "file").write_text("mine")
    result = cli(*GRADE, folder, "--out", tmp_path / "file")
    assert result.exit_code == 2 and "nothing can be written into" in result.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_files_that_cannot_be_written_are_no_fault_of_a_student(folder, tmp_path):
    (tmp_path / "out" / "grades.csv").mkdir(parents=True)
    result = cli(*GRADE, folder, "--out", tmp_path / "out")
    assert result.exit_code == 3 and "6 of 6 results are kept" in result.stderr


def test_shards_into_one_folder_make_the_same_files_as_one_call(course, tmp_path):
    random_class(tmp_path / "class", partial(notebook, course), size=9, seed=1)
    for part in range(1, 4):
        cli(*GRADE, tmp_path / "class", "--out", tmp_path / "shards", "--shard", f"{part}/3")
    assert not (tmp_path / "shards" / "grades.csv").exists()
    merged = cli(*GRADE, tmp_path / "class", "--out", tmp_path / "shards")
    cli(*GRADE, tmp_path / "class", "--out", tmp_path / "one", "--jobs", 2)
    for name in ("grades.csv", "grades.json", "grades.xml"):
        one, shards = ((tmp_path / out / name).read_bytes() for out in ("one", "shards"))
        assert one == shards
    failed = sum(kind == GraderFailed.kind for kind in kinds(tmp_path / "one").values())
    assert merged.stderr.count("kept from before") == 9 - failed


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "-1/2", "1/99999999"])
def test_a_shard_that_is_none_is_refused(shard, folder):
    assert cli(*GRADE, folder, "--shard", shard).exit_code == 2


@pytest.mark.parametrize("options", [(), ("--student", "moodle")])
def test_a_folder_without_a_submission_is_no_success(tmp_path, course, options):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "README.md").touch()
    result = cli(*GRADE, tmp_path / "class", *options)
    assert result.exit_code == 2 and "holds no submission" in result.stderr
    assert not (course.root / "runs").exists()


def test_no_two_calls_get_the_same_folder(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_folder(tmp_path / "runs"), range(40)))
    assert sorted(path.name for path in made) == [f"{number:03d}" for number in range(1, 41)]


def test_results_go_to_a_new_folder_that_nobody_else_got(course, folder, monkeypatch):
    for number in ("001", "002"):
        result = cli(*GRADE, folder)
        assert f"Results are kept in {course.root / 'runs' / number}" in result.stderr
        assert (course.root / "runs" / number / "grades.csv").exists()


def test_dask_that_is_not_installed_is_said(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = cli(*GRADE, folder, "--out", tmp_path / "out", "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 2 and "brokenruns[scale]" in result.stderr


def test_a_fault_of_the_batch_itself_does_not_leave_it_waiting(folder, tmp_path, monkeypatch):
    def broken(_self, _request):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(batch.Grader, "result", broken)
    result = cli(*GRADE, folder, "--out", tmp_path / "out")
    assert isinstance(result.exception, RuntimeError)
    assert not (tmp_path / "out" / "results").exists()
