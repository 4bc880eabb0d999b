"""1,000 submissions with faults get 1,000 results; three ways to grade 200 give one CSV.

`python -m benchmarks.grading.whole_class [SIZE] [--stand-in]`. Graders are killed at random while
it runs, and the whole command twice; each time it is called again, and goes on. The answers are
drawn from the right and wrong ones of lessons 00 and 01, so that the points of each are known.
With --stand-in no answer is executed: it tries the batch alone.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from course_utils.shown.report import Table

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "helpers"))

import classes  # noqa: E402  the class that the tests draw, too
from written import Drawn  # noqa: E402

from course_utils.checks.declare import Lesson  # noqa: E402
from course_utils.exercises import find_lesson  # noqa: E402

IS_STAND_IN = "--stand-in" in sys.argv
REAL = (sys.executable, "-c", "from course_utils.commands import main; main()")
COMMAND = (*(classes.COURSE if IS_STAND_IN else REAL), "grade")
STUB = "return TODO  # your code instead of this line"
RIGHT = "return ((a.float() + b.float()) / 2).to(a.dtype)"
GRADER = ("course_utils.grading.worker", classes.FAKE_GRADER[1])  # in its command line
# What stands above an answer: each costs that student alone.
REAL_FAULTS = dict.fromkeys(
    (
        "raise SystemExit",
        "import os; os.abort()",
        "1 / 0",
        "def broken(:",
        "print('x' * 10_000_000)",
        "import sys; sys.modules.clear()",
        "raise KeyboardInterrupt",
        "import os; os.environ.clear(); os.chdir('/')",
    ),
    "grade",
)
FAULTS = classes.FAULTS if IS_STAND_IN else REAL_FAULTS


def lesson_00(*, right: int = 1, added: str = "") -> dict:
    """A student's notebook of lesson 00."""
    data = json.loads((ROOT / "notebooks" / "00_start_here.ipynb").read_text())
    for cell in data["cells"]:
        cell["source"] = "".join(cell["source"])
        if right:
            cell["source"] = cell["source"].replace(STUB, RIGHT)
    if added:
        extra = {"cell_type": "code", "id": "added", "metadata": {}, "outputs": []}
        data["cells"].append(extra | {"source": added, "execution_count": None})
    return data


def faulty(size: int, lessons: list[Lesson], *, num_stops: int = 2) -> Table:
    """Grade `size` submissions while graders, and `num_stops` times the command, are killed."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder, out = Path(scratch) / "class", Path(scratch) / "out"
        settings = {"size": size, "seed": 0, "faults": FAULTS, "max_right": 1}
        make = lesson_00 if IS_STAND_IN else Drawn(lessons, seed=0)
        wanted = classes.random_class(folder, make, **settings)
        began, kills = time.perf_counter(), Counter()
        stops = [size * n // (num_stops + 1) for n in range(1, num_stops + 1)]
        for stop_at in (*stops, size + 1):
            _grade_with_kills(folder, out, stop_at, kills)
        seconds = time.perf_counter() - began
        kinds, points = _kinds(out), _points(out)
    wrong = [student for student, kind in wanted.items() if kinds.get(student) != kind]
    right = {} if IS_STAND_IN else expected_points(wanted, make.points)
    wrong += [student for student, worth in right.items() if points.get(student) != worth]
    rows = [(kind, str(count)) for kind, count in Counter(kinds.values()).items()]
    rows += [(f"killed: {what}", str(count)) for what, count in kills.items()]
    rows += [("points known beforehand", str(len(right)))]
    rows += [("another result than it must have", str(len(wrong))), ("seconds", f"{seconds:.0f}")]
    title = f"{size} submissions, {len(kinds)} results"
    if len(kinds) != size or wrong:
        seen = [(s, wanted[s], right.get(s), kinds.get(s), points.get(s)) for s in wrong[:9]]
        raise AssertionError(f"{title}; wrong: {seen}")
    return Table(columns=("what", "count"), rows=rows, title=title)


def _grade_with_kills(folder: Path, out: Path, stop_at: int, kills: Counter) -> None:
    draw, results = random.Random(stop_at), out / "results"
    command = [*COMMAND, str(folder), "--out", str(out), "--jobs", "2", "--cell-limit", "20"]
    command += ["--no-sandbox"] if IS_STAND_IN else []  # nothing is executed
    with out.with_name("log").open("w") as log:
        # What is killed removes nothing itself.
        env = os.environ | {"TMPDIR": str(out.parent)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
    next_kill = 0
    try:
        while process.poll() is None:
            time.sleep(0.2)
            num_results = len(list(results.glob("*.json")))  # not what is still being written
            if num_results >= stop_at:
                process.kill()
                kills["course grade"] += 1
                break
            elif num_results > next_kill and (graders := _graders(process)):
                draw.choice(graders).kill()
                kills["grader"] += 1
                next_kill = num_results + draw.randint(5, max(40, stop_at // 3))
    finally:
        process.terminate()  # after Ctrl-C it still runs, and ends its graders
        process.wait()
    if process.returncode not in (-9, 0, 1, 2, 3):
        raise AssertionError(out.with_name("log").read_text()[-2000:])


def _graders(process: subprocess.Popen) -> list[psutil.Process]:
    try:
        children = psutil.Process(process.pid).children()
        return [child for child in children if set(GRADER) & set(child.cmdline())]
    except psutil.Error:
        return []


def expected_points(wanted: dict[str, str], made: list[int | None]) -> dict[str, int]:
    """The points of the students whose notebook is graded as it was made."""
    pairs = zip(wanted.items(), made, strict=True)
    return {
        student: worth for (student, kind), worth in pairs if kind == "grade" and worth is not None
    }


def _points(out: Path) -> dict[str, int]:
    records = [json.loads(path.read_text()) for path in (out / "results").glob("*.json")]
    return {record["student"]: record["result"].get("points") for record in records}


def _kinds(out: Path) -> dict[str, str]:
    records = [json.loads(path.read_text()) for path in (out / "results").glob("*.json")]
    return {record["student"]: record["result"]["kind"] for record in records}


def three_ways(size: int) -> Table:
    """The same class by --jobs 2, by four shards, and on a Dask cluster that loses a worker."""
    with TemporaryDirectory() as scratch:
        folder, csvs, rows = Path(scratch) / "class", {}, []
        settings = {"size": size, "seed": 1, "faults": FAULTS, "max_right": 1}
        make = lesson_00 if IS_STAND_IN else Drawn([find_lesson("00")], seed=1)
        classes.random_class(folder, make, **settings)
        for name, way in WAYS.items():
            began = time.perf_counter()
            way(folder, Path(scratch) / name)
            csvs[name] = (Path(scratch) / name / "grades.csv").read_text()
            seconds = f"{time.perf_counter() - began:.0f}"
            rows.append((name, str(len(csvs[name].splitlines()) - 1), seconds))
    if len(set(csvs.values())) != 1 or len(csvs["jobs"].splitlines()) != size + 1:
        raise AssertionError("the CSV files differ")
    columns = ("way", "rows, the same in each", "seconds")
    return Table(columns=columns, rows=rows, title=f"{size} submissions, three ways")


def _grade(folder: Path, out: Path, *options: str) -> None:
    command = [*COMMAND, str(folder), "--out", str(out), *options]
    command += ["--no-sandbox"] if IS_STAND_IN else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1, 2, *([3] if IS_STAND_IN else [])):  # it plays dead
        raise AssertionError(done.stderr[-2000:])


def _by_jobs(folder: Path, out: Path) -> None:
    _grade(folder, out, "--jobs", "2")


def _by_shards(folder: Path, out: Path) -> None:
    for part in range(1, 5):
        _grade(folder, out, "--shard", f"{part}/4")
    _grade(folder, out)  # nothing is left to grade: it merges


def _by_dask(folder: Path, out: Path) -> None:
    with _cluster(out.with_name("dask-files")) as (address, victim):
        command = [*COMMAND, str(folder), "--out", str(out), "--dask", address]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            time.sleep(0.5)
            results = out / "results"
            if len(list(results.glob("*.json"))) > len(os.listdir(folder)) // 2:
                victim.kill()
        if process.returncode not in (0, 1, 2, 3) or victim.poll() is None:
            raise AssertionError(f"Dask ended with {process.returncode}")


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """A scheduler and two workers; gives its address and one of the workers.

    They are killed, so what they leave in the temporary folder is left in this one.
    """
    folder.mkdir()
    known, dask = folder / "scheduler.json", [sys.executable, "-m", "dask"]
    node = [*dask, "worker", "--scheduler-file", str(known), "--no-nanny", "--nthreads", "1"]
    node += ["--preload", "fake_on_dask"] if IS_STAND_IN else []
    start = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    path = os.pathsep.join(
        [str(ROOT), str(ROOT / "tests" / "helpers"), os.environ.get("PYTHONPATH", "")]
    )
    start["env"] = os.environ | {"PYTHONPATH": path, "TMPDIR": str(folder)}
    scheduler = [*dask, "scheduler", "--port", "0", "--scheduler-file", str(known)]
    processes = [
        subprocess.Popen([*one, "--no-dashboard"], **start) for one in (scheduler, node, node)
    ]
    try:
        yield classes.address_in(known), processes[-1]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


WAYS = {"jobs": _by_jobs, "shards": _by_shards}
try:
    import distributed  # noqa: F401

    WAYS["dask"] = _by_dask
except ImportError:
    print("distributed is not installed: no Dask here (pip install 'brokenruns[scale]')")


if __name__ == "__main__":
    size = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), 1000)
    print(faulty(size, [find_lesson("00"), find_lesson("01")]), end="\n\n", flush=True)
    print(three_ways(size // 5))
