"""Right and wrong answers of exercise 00.1."""

import torch

from course_utils.checks import checking
from course_utils.exercises import lesson_00
from course_utils.exercises.lesson_00 import LARGEST
from tests.answers import answers_of

right, wrong = answers_of(lesson_00.MEAN)


@wrong(caught_by=lesson_00.large_numbers)
def adds_then_halves(a, b):
    return (a + b) / 2


@wrong(caught_by=lesson_00.opposite_signs)
def walks_from_a_to_b(a, b):
    return a + (b - a) / 2


@wrong(caught_by=lesson_00.opposite_signs)
def adds_quarters(a, b):
    return (a / 4 + b / 4) * 2


@wrong(caught_by=lesson_00.ordinary_mean)
def forgets_b(a, b):
    return a / 2


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def goes_to_float32_and_stays(a, b):
    return (a.float() + b.float()) / 2


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def always_comes_back_in_float16(a, b):
    return ((a.float() + b.float()) / 2).half()


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def one_number_for_all(a, b):
    return ((a.float() + b.float()) / 2).mean().to(a.dtype)


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def sum_of_all_means(a, b):
    return ((a.float() + b.float()) / 2).sum().reshape(1).to(a.dtype)


@wrong(caught_by=lesson_00.ordinary_mean)
def mean_of_all_everywhere(a, b):
    return torch.full_like(a, ((a.float() + b.float()) / 2).mean().item())


@wrong(caught_by=lesson_00.ordinary_mean)
def geometric_mean(a, b):
    return (a.float() * b.float()).abs().sqrt().to(a.dtype)


@wrong(caught_by=lesson_00.ordinary_mean)
def goes_through_bfloat16(a, b):
    return ((a.bfloat16() + b.bfloat16()) / 2).to(a.dtype)


@wrong(caught_by=lesson_00.large_numbers)
def clamps_the_sum(a, b):
    return (a + b).clamp(-LARGEST, LARGEST) / 2


@wrong(caught_by=lesson_00.large_numbers)
def clamps_the_mean(a, b):
    return ((a.float() + b.float()) / 2).clamp(-60000, 60000).to(a.dtype)


@wrong(caught_by=lesson_00.large_numbers)
def repairs_the_inf(a, b):
    return ((a + b) / 2).nan_to_num(posinf=50016.0)


@wrong(caught_by=lesson_00.equal_and_tiny_numbers)
def halves_first(a, b):
    return a / 2 + b / 2


@wrong(caught_by=lesson_00.equal_and_tiny_numbers)
def halves_first_unless_equal(a, b):
    return torch.where(a == b, a, a / 2 + b / 2)


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def gives_a_number(a, b):
    return ((a.float() + b.float()) / 2).mean().item()


@wrong(caught_by=lesson_00.keeps_dtype_and_shape)
def gives_a_list(a, b):
    return ((a.float() + b.float()) / 2).tolist()


@wrong(caught_by=checking.leaves_its_inputs_alone)
def adds_in_place(a, b):
    return a.add_(b).div_(2)


@right
def chooses_by_sign(a, b):
    return torch.where(a.sign() == b.sign(), a + (b - a) / 2, (a + b) / 2)


@right
def mean_of_a_stack(a, b):
    return torch.stack([a, b]).mean(dim=0, dtype=torch.float64).to(a.dtype)


@right
def interpolates(a, b):
    return torch.lerp(a.double(), b.double(), 0.5).type_as(a)


@right
def halves_in_float32(a, b):
    return (a.float() / 2 + b.float() / 2).to(dtype=b.dtype)
