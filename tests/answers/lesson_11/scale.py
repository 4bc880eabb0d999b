"""Right and wrong answers of exercise 11.6."""

from course_utils.exercises.lesson_11 import scale
from tests.answers.forms import letter_answers

letter_answers(
    scale.SCALE,
    tempting={"1": "be", "2": "be", "3": "ab", "4": "be", "5": "ad", "6": "ab"},
)
