"""The cost of the course itself: importing it, each check, each lesson's time and memory."""

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from course_utils.checks import checking
from course_utils.exercises import all_lessons
from course_utils.lesson.handle import Lesson
from course_utils.shown.report import Table

ROOT = Path(__file__).parents[2]
COURSE = Path(sys.executable).with_name("course")
# Largest resident size of any process that the command started, in KiB on Linux.
MEASURE = (
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=2); "
    "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def import_cost() -> Table:
    """Seconds to import the package, best of five fresh interpreters, against a bare one."""
    rows = [
        (name, f"{_seconds(code):.3f}")
        for name, code in (("bare Python", "pass"), ("course_utils", "import course_utils"))
    ]
    return Table(columns=("import", "seconds"), rows=rows, title="Importing (limit 0.3 s)")


def check_cost(lessons: Iterable[Lesson]) -> Table:
    """Seconds of each exercise's check on its first right answer, libraries imported."""
    rows = []
    for exercise in (e for lesson in lessons for e in lesson.exercises):
        checking.check(exercise, exercise.answer)
        began = time.perf_counter()
        checking.check(exercise, exercise.answer)
        seconds = f"{time.perf_counter() - began:.2f}"
        limit = f"{exercise.time_limit_s:.0f}"
        rows.append((exercise.id, exercise.title, seconds, limit))
    columns = ("exercise", "title", "seconds", "limit")
    return Table(columns=columns, rows=rows, title="Checks, and when each is stopped")


def lesson_cost() -> Table:
    """Seconds and peak memory of every lesson, unsolved and solved, one after the other."""
    rows = []
    for lesson in all_lessons():
        for kind in ("notebooks", "solutions"):
            began, failed, memory = time.perf_counter(), *_run(lesson.number, kind)
            seconds = f"{time.perf_counter() - began:.0f}"
            rows.append((lesson.stem, kind, seconds, f"{memory:.2f}", "FAILED" if failed else ""))
    return Table(columns=("lesson", "which", "seconds", "peak GiB", ""), rows=rows, title="Lessons")


def _run(number: str, kind: str) -> tuple[bool, float]:
    with TemporaryDirectory() as scratch:
        command = [str(COURSE), "run", number, "--out", f"{scratch}/out"]
        command += ["--solutions"] if kind == "solutions" else []
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *command],
            cwd=ROOT,
            text=True,
            capture_output=True,
            check=True,
        )
    code, kib = map(int, done.stdout.split()[-2:])
    return code != 0, kib / 2**20


def _seconds(code: str) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - began)
    return min(times)
