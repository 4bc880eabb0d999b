"""Right and wrong answers of exercise 10.4."""

from course_utils.exercises.lesson_10 import alive
from tests.answers.forms import letter_answers

letter_answers(
    alive.ALIVE, tempting={"1": "bd", "2": "af", "3": "be", "4": "ac", "5": "ac", "6": "ac"}
)
