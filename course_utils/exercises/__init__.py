"""The exercises of every lesson, one module per lesson, found by name: `lesson_03.py`.

The right answer of each exercise lives here and nowhere else in the library.
"""

import importlib
import pkgutil

from course_utils.checks.declare import Exercise, Lesson
from course_utils.errors import BadRequest


def lesson_numbers() -> list[str]:
    """Numbers of all lessons, in order.

    >>> lesson_numbers()[0]
    '00'
    """
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.removeprefix("lesson_") for name in names if name.startswith("lesson_"))


def find_lesson(name: str) -> Lesson:
    """The lesson called by its number or its file stem.

    Raises:
        BadRequest: there is no such lesson.

    >>> find_lesson("00").stem
    '00_start_here'
    """
    number = name[:2] if name[2:3] in ("", "_") else name
    if number in lesson_numbers():
        lesson = importlib.import_module(f"{__name__}.lesson_{number}").LESSON
        if name in (number, lesson.stem):
            return lesson
    stems = ", ".join(lesson.stem for lesson in all_lessons())
    raise BadRequest(
        f"there is no lesson {name!r}",
        why="a lesson is named by number or file stem",
        fix=f"choose one of: {stems}",
    )


def all_lessons() -> list[Lesson]:
    """Every lesson, in order."""
    return [find_lesson(number) for number in lesson_numbers()]


def find_exercise(exercise_id: str) -> Exercise:
    """The exercise with this id, such as "03.1".

    Raises:
        BadRequest: there is no such exercise.

    >>> find_exercise("00.1").id
    '00.1'
    """
    lesson = find_lesson(exercise_id.partition(".")[0])
    for exercise in lesson.exercises:
        if exercise.id == exercise_id:
            return exercise
    known = ", ".join(exercise.id for exercise in lesson.exercises)
    raise BadRequest(
        f"there is no exercise {exercise_id!r}",
        why=f"lesson {lesson.number} has {known}",
        fix="choose one of these",
    )
