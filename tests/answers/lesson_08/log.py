"""Right and wrong answers of exercise 08.6."""

from course_utils.exercises.lesson_08 import log
from course_utils.exercises.lesson_08.log import FACTORS, PLAIN
from tests.answers import answers_of

right, wrong = answers_of(log.LOG)


right({int(number): factor for number, factor in FACTORS.items()})
right({"1": 64 / 4, "2": 1 / 2, "3": 16 / 16, "4": 8 - 4})
wrong({}, caught_by=log.has_four_numbers)
wrong({"1": 16, "2": 0.5, "3": 1}, caught_by=log.has_four_numbers)
wrong(PLAIN | {"1": "G"}, caught_by=log.has_four_numbers)
wrong(PLAIN | {"5": 1}, caught_by=log.has_four_numbers)
wrong(PLAIN | {"1": 69 / 3.2}, caught_by=log.LOOKS["1"])
wrong(PLAIN | {"1": 69}, caught_by=log.LOOKS["1"])
wrong(PLAIN | {"1": 8}, caught_by=log.LOOKS["1"])
wrong(PLAIN | {"1": 1 / 16}, caught_by=log.LOOKS["1"])
wrong(PLAIN | {"2": 2}, caught_by=log.LOOKS["2"])
wrong(PLAIN | {"2": 1}, caught_by=log.LOOKS["2"])
wrong(PLAIN | {"3": 7.82 / 12.59}, caught_by=log.LOOKS["3"])
wrong(PLAIN | {"3": 16}, caught_by=log.LOOKS["3"])
wrong(PLAIN | {"4": 42.7 / 12.59}, caught_by=log.LOOKS["4"])
wrong(PLAIN | {"4": 16}, caught_by=log.LOOKS["4"])
