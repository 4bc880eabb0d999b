"""One submission, one set of scores, from the lesson's own checks in a fresh kernel."""

from course_utils.grading.result import Scores
from course_utils.grading.submission import Submission
from course_utils.notebook.execute import Limits
from course_utils.notebook.repository import Repository


def grade_one(repository: Repository, submission: Submission, limits: Limits) -> Scores:
    """Grade `submission`, whose `lesson` is one of the repository's. Changes no file.

    It is called many times in one process (course_utils.grading.worker), in its main thread, one
    submission after the other. What it keeps between calls must not depend on a submission.

    Raises:
        BadNotebook: the submission is at fault, and the text says how.
        Exception: any other means that this machine is at fault; it is tried again.
    """
    raise NotImplementedError
