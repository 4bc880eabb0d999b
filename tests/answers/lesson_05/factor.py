"""Right and wrong answers of exercise 05.6."""

import torch

from course_utils.exercises.lesson_05 import factor
from tests.answers import answers_of

right, wrong = answers_of(factor.FACTOR)


right(65504 / 8 / 600017)
right(torch.tensor(0.01))
right(2.0**-9)
wrong(1, caught_by=factor.trains_in_float16)
wrong(32.0, caught_by=factor.trains_in_float16)
wrong(1e-10, caught_by=factor.trains_in_float16)
wrong(2.0**-25, caught_by=factor.trains_in_float16)
wrong(0.1, caught_by=factor.keeps_a_margin)
wrong(65504 / 8 / 316582, caught_by=factor.keeps_a_margin)
wrong(2.0**-22, caught_by=factor.trains_in_float16)
wrong(1 / 32768, caught_by=factor.uses_the_room)
wrong(2.0**-12, caught_by=factor.uses_the_room)
wrong(65504 / 64 / 700000, caught_by=factor.uses_the_room)
wrong("1/32768", caught_by=factor.is_a_number_above_0)
wrong(0, caught_by=factor.is_a_number_above_0)
wrong(-0.01, caught_by=factor.is_a_number_above_0)
wrong(float("nan"), caught_by=factor.is_a_number_above_0)
wrong(torch.tensor([0.01, 0.01]), caught_by=factor.is_a_number_above_0)
