"""Files of tests that go through all lessons, and the lesson that a test of theirs is about."""

import re

FILES = (
    "tests/course/test_lessons.py",
    "tests/exercises/test_exercises.py",
    "tests/grading/test_judge.py",
    "tests/grading/test_solved_in_box.py",
)
LESSON = re.compile(r"\[(\d\d)[._\]-]")


def lesson_of(nodeid: str) -> str:
    """The number of its lesson, or "none".

    >>> lesson_of("tests/grading/test_judge.py::test_there[04.5-right-0]")
    '04'
    """
    file, _, test = nodeid.partition("::")
    found = LESSON.search(test) if file in FILES else None
    return found[1] if found else "none"
