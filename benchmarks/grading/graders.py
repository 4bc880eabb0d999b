"""`course grade` beside nbgrader and otter-grader: the same submissions of lesson 00, in one run.

The other two are measured where their commands are on the PATH, else they are said to be absent.
They need a separate environment in which the course can be imported, such as
`python -m venv G && G/bin/pip install nbgrader otter-grader`, with a .pth file that names the
course's site-packages. Neither has a box: student code runs there with the grader's rights.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from course_utils.shown.report import Table

ROOT = Path(__file__).parents[2]
STEM, POINTS = "00_start_here", 2
STUBS = (  # ours, and what nbgrader puts in its place
    "return TODO  # your code instead of this line",
    "# YOUR CODE HERE\n    raise NotImplementedError()",
)
RIGHT = "return ((a.float() + b.float()) / 2).to(a.dtype)"
WRONG = "return (a + b) / 2"
FEW = 2  # what more of them take, tells a submission's cost from that of the start
MIB, LOOK_S = 2**20, 0.1
COURSE = (sys.executable, "-c", "from course_utils.commands import main; main()")
OTTER_TEST = """\
OK_FORMAT = True
CODE = '''
>>> from course_utils.checks import checking
>>> from course_utils.exercises import find_exercise
>>> str(checking.check(find_exercise("00.1"), mean_of).outcome)
'passed'
'''
CASE = {"code": CODE.strip(), "hidden": False, "locked": False}
SUITE = {"type": "doctest", "scored": True, "setup": "", "teardown": "", "cases": [CASE]}
test = {"name": "q1", "points": 2, "suites": [SUITE]}
"""


@dataclass(frozen=True)
class Cost:
    """The cost of one command, with everything that it started."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def measure(command: list[str], folder: Path) -> Cost:
    """Run a command to its end.

    Raises:
        AssertionError: it ended with a code that says more than "not full marks".
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COURSE_ROOT": str(ROOT)}
    log = folder / "log"
    before, began, peak = os.times(), time.perf_counter(), 0.0
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        while process.poll() is None:
            peak = max(peak, _memory_mib(process.pid))
            time.sleep(LOOK_S)
    if process.returncode not in (0, 1):
        raise AssertionError(f"{command[0]}: {log.read_text()[-2000:]}")
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return Cost(time.perf_counter() - began, cpu, peak)


def _memory_mib(pid: int) -> float:
    """Of a process and all below it; what several share is counted once."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0.0
    for process in family:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total / MIB


def _hand_in(path: Path, released: Path, number: int) -> None:
    """Write submissions: every second one is right, the others overflow."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(released.read_text())
    for cell in data["cells"]:
        source = "".join(cell["source"])
        # What differs keeps a cache from knowing the answer.
        answer = f"unused_{number} = {number}\n    {RIGHT if number % 2 == 0 else WRONG}"
        for stub in STUBS:
            source = source.replace(stub, answer)
        cell["source"] = source
    text = json.dumps(data)
    assert f"unused_{number} = " in text, f"{released} has no stub to put an answer into"
    path.write_text(text)


def by_course(folder: Path, number: int) -> tuple[Cost, int]:
    for n in range(number):
        released = ROOT / "notebooks" / f"{STEM}.ipynb"
        _hand_in(folder / "class" / f"s{n}" / f"{STEM}.ipynb", released, n)
    command = [*COURSE, "grade", "class", "--out", "out", "--jobs", "1", "--student", "name"]
    cost = measure(command, folder)
    return cost, json.loads((folder / "out" / "grades.json").read_text())["points"]


def by_nbgrader(folder: Path, number: int) -> tuple[Cost, int]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COURSE_ROOT": str(ROOT)}
    quiet = {"cwd": folder, "env": environment, "capture_output": True, "check": True}
    build = [*COURSE, "build", "--nbgrader", "00", "--out", str(folder)]
    subprocess.run(build, **quiet)
    subprocess.run(["nbgrader", "generate_assignment", STEM, "--create"], **quiet)
    released = folder / "release" / STEM / f"{STEM}.ipynb"
    for n in range(number):
        _hand_in(folder / "submitted" / f"s{n}" / STEM / f"{STEM}.ipynb", released, n)
    cost = measure(["nbgrader", "autograde", STEM, "--create"], folder)
    subprocess.run(["nbgrader", "export"], **quiet)
    with (folder / "grades.csv").open() as file:
        return cost, round(sum(float(row["score"]) for row in csv.DictReader(file)))


def by_otter(folder: Path, number: int) -> tuple[Cost, int]:
    (folder / "tests").mkdir()
    (folder / "tests" / "q1.py").write_text(OTTER_TEST)
    plain = ["--no-config", "--no-requirements", "--no-environment"]
    zipped = ["otter", "generate", "-t", "tests", "-o", "autograder.zip", *plain]
    subprocess.run(zipped, cwd=folder, capture_output=True, check=True)
    costs, points = [], 0.0
    for n in range(number):
        released = ROOT / "notebooks" / f"{STEM}.ipynb"
        _hand_in(folder / f"s{n}.ipynb", released, n)
        out = folder / f"out{n}"
        out.mkdir()
        run = ["otter", "run", "-a", "autograder.zip", "-o", out.name, f"s{n}.ipynb"]
        costs.append(measure(run, folder))
        tests = json.loads((out / "results.json").read_text())["tests"]
        points += sum(one.get("score", 0) for one in tests)
    walls, cpus, peaks = zip(*((c.wall_s, c.cpu_s, c.peak_mib) for c in costs), strict=True)
    return Cost(sum(walls), sum(cpus), max(peaks)), round(points)


# Each with its command, and how many submissions it is measured with.
GRADERS: dict[str, tuple[str, int, Callable[[Path, int], tuple[Cost, int]]]] = {
    "course grade, in the box": ("", 62, by_course),
    "nbgrader autograde": ("nbgrader", 12, by_nbgrader),
    "otter run": ("otter", 12, by_otter),
}


def side_by_side() -> Table:
    """Seconds and memory of each installed grader, on the same submissions."""
    rows = []
    for name, (command, many, grade) in GRADERS.items():
        if command and shutil.which(command) is None:
            rows.append((name, "not installed here", "", "", "", "", ""))
            continue
        costs, points = {}, 0
        for number in (FEW, many):
            with TemporaryDirectory() as scratch:
                costs[number], points = grade(Path(scratch), number)
        rows.append(_row(name, many, costs[FEW], costs[many], points))
    columns = ("grader", "number", "s a submission", "CPU s", "start, s", "peak MiB", "points")
    title = "The first submissions of one class, lesson 00, half of them right"
    return Table(columns=columns, rows=rows, title=title)


def _row(name: str, number: int, few: Cost, many: Cost, points: int) -> tuple[str, ...]:
    wall = (many.wall_s - few.wall_s) / (number - FEW)
    cpu = (many.cpu_s - few.cpu_s) / (number - FEW)
    start = max(few.wall_s - FEW * wall, 0.0)
    given = f"{points} of {POINTS * number // 2} earned"
    return (
        name,
        str(number),
        f"{wall:.2f}",
        f"{cpu:.2f}",
        f"{start:.1f}",
        f"{many.peak_mib:.0f}",
        given,
    )


if __name__ == "__main__":
    print(side_by_side())
