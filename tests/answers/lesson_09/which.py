"""Right and wrong answers of exercise 09.2."""

from course_utils.exercises.lesson_09 import which
from tests.answers.forms import letter_answers

letter_answers(
    which.WHICH, tempting={"1": "cd", "2": "bdf", "3": "d", "4": "bf", "5": "ce", "6": "ae"}
)
