"""Grades one submission: cells in, scores out."""

from course_utils.exercises.declare import Lesson
from course_utils.grading.submitted import Scores, SubmittedCell


def grade_one(lesson: Lesson, cells: list[SubmittedCell], box) -> Scores:
    """The points of one submission, whose code runs in `box` only.

    Raises:
        GraderFailed: the machinery broke, not the submission; another try may succeed.
        CannotBeGraded: what was handed in cannot be judged at all.
    """
    raise NotImplementedError
