"""Right and wrong answers of exercises 07.1 and 07.4."""

from course_utils.exercises.lesson_07 import read
from tests.answers.forms import letter_answers

letter_answers(
    read.READ,
    tempting={
        "1": "ac",
        "2": "ab",
        "3": "hf",
        "4": "eb",
        "5": "b",
        "6": "ac",
        "7": "ae",
        "8": "a",
    },
)
letter_answers(read.EMPTY, tempting={"1": "abd", "2": "bcd", "3": "acd"})
