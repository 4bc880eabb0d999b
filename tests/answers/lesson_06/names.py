"""Right and wrong answers of exercise 06.4."""

from course_utils.exercises.lesson_06 import names
from course_utils.exercises.lesson_06.names import CAUSES
from tests.answers import answers_of

right, wrong = answers_of(names.NAMES)


right({number: letter.upper() for number, letter in CAUSES.items()})
right({int(number): letter for number, letter in CAUSES.items()})
wrong({}, caught_by=names.five_letters)
wrong({k: v for k, v in CAUSES.items() if k != "5"}, caught_by=names.five_letters)
wrong(CAUSES | {"3": "f"}, caught_by=names.five_letters)
wrong(CAUSES | {"4": ["a"]}, caught_by=names.five_letters)
wrong(CAUSES | {"1": "b"}, caught_by=names.names_first)
wrong(dict(zip("12345", "aaaaa", strict=True)), caught_by=names.names_first)
wrong(CAUSES | {"2": "c"}, caught_by=names.names_second)
wrong(CAUSES | {"3": "e"}, caught_by=names.names_third)
wrong(CAUSES | {"4": "c"}, caught_by=names.names_fourth)
wrong(CAUSES | {"5": "d"}, caught_by=names.names_fifth)
