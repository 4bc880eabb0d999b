"""Right and wrong answers of exercises 08.3 and 08.4 and 08.7."""

from course_utils.exercises.lesson_08 import tables
from tests.answers.forms import letter_answers

letter_answers(
    tables.SIGN, tempting={"1": "bc", "2": "ac", "3": "ab", "4": "ab", "5": "bc", "6": "ab"}
)
letter_answers(
    tables.LOOPS, tempting={"1": "bd", "2": "bc", "3": "ab", "4": "ac", "5": "bc", "6": "e"}
)
letter_answers(
    tables.DRIFT, tempting={"1": "bc", "2": "ac", "3": "ac", "4": "bc", "5": "ab", "6": "ab"}
)
