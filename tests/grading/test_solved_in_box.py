"""Every solved notebook gets full marks in the box: no exercise needs what a box refuses.

`make test` takes the first lesson, `make prove` all.
"""

import pytest
from whole import cases

from course_utils.box.kind import NO_SANDBOX_ENV, find_kind
from course_utils.exercises import find_lesson, lesson_numbers
from course_utils.files.repository import find_repository
from course_utils.grading import one_submission
from course_utils.grading.submission import read_submission
from course_utils.notebook.execute import Limits

pytestmark = pytest.mark.skipif(
    not find_kind().has_walls, reason=f"no box can be made here: {find_kind().saw}"
)


@pytest.mark.parametrize("number", cases(lesson_numbers()))
def test_a_solved_notebook_gets_full_marks_in_the_box(number, monkeypatch):
    monkeypatch.delenv(NO_SANDBOX_ENV, raising=False)
    repository, lesson = find_repository(), find_lesson(number)
    submission = read_submission(repository.solved_path(lesson.stem))
    try:
        scores = one_submission.grade_one(
            repository, submission, Limits(cell_s=120, notebook_s=900)
        )
    finally:
        one_submission.close()
    assert [s for s in scores.scores if s.points < s.of] == []
    assert scores.points == lesson.points
