"""Files of tests that go through all lessons, and the lesson that a test of theirs is about.

A proof of one lesson imports no other, so that it need not be repeated when another has changed.
"""

import re

from course_utils.checks.declare import Lesson

FILES = (
    "tests/course/test_lessons.py",
    "tests/exercises/test_exercises.py",
    "tests/grading/test_judge.py",
    "tests/grading/test_solved_in_box.py",
)
OF_NONE = FILES[:3]  # those that have tests of no lesson as well
NONE = "none"
only = ""  # the lesson that --lesson names, kept here by conftest.py before any file is read
LESSON = re.compile(r"\[(\d\d)[._\]-]")


def lesson_of(nodeid: str) -> str:
    """The number of its lesson, or "none".

    >>> lesson_of("tests/grading/test_judge.py::test_there[04.5-right-0]")
    '04'
    """
    file, _, test = nodeid.partition("::")
    found = LESSON.search(test) if file in FILES else None
    return found[1] if found else NONE


def lessons() -> list[Lesson]:
    """All lessons, or the one whose tests alone are asked for."""
    from course_utils.exercises import all_lessons, find_lesson

    return all_lessons() if only in ("", NONE) else [find_lesson(only)]
