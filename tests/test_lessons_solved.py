"""Every lesson, solved, graded as a student's copy is; apart, so that two workers share them."""

import pytest
from course_command import course

from course_utils.exercises import all_lessons

# A whole notebook runs in each; it has its own limits inside the command.
pytestmark = pytest.mark.timeout(1500)


@pytest.mark.parametrize("stem", [lesson.stem for lesson in all_lessons()])
def test_the_solved_answers_get_full_marks_in_a_fresh_kernel(stem, tmp_path):
    done = course("grade", f"solutions/{stem}.ipynb", "--json", str(tmp_path / "grade.json"))
    assert done.returncode == 0, done.stdout + done.stderr
