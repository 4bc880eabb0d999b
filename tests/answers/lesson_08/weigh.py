"""Right and wrong answers of exercise 08.2."""

import torch

from course_utils.exercises.lesson_08 import weigh
from course_utils.exercises.lesson_08.weigh import by_split
from tests.answers import answers_of

right, wrong = answers_of(weigh.WEIGH)


@right
def by_loop(counts, size):
    rows = counts.tolist()
    micro = [sum(rows[at : at + size]) for at in range(0, len(rows), size)]
    return torch.tensor([sum(rows) / len(micro) / micro[n // size] for n in range(len(rows))])


@right
def by_index(counts, size):
    home = torch.arange(len(counts)) // size
    micro = torch.zeros(int(home.max()) + 1, dtype=torch.float64).index_add(
        0, home, counts.double()
    )
    return micro.mean() / micro[home]


@wrong(caught_by=weigh.gives_a_number_for_each_row)
def a_list(counts, size):
    return by_loop(counts, size).tolist()


@wrong(caught_by=weigh.gives_a_number_for_each_row)
def one_number(counts, size):
    return counts.double().mean() / counts.double().min()


@wrong(caught_by=weigh.gives_a_number_for_each_row)
def whole_numbers(counts, size):
    return by_loop(counts, size).long()


@wrong(caught_by=weigh.one_row_alone)
def upside_down(counts, size):
    return 1 / by_split(counts, size)


@wrong(caught_by=weigh.one_row_alone)
def shares(counts, size):
    weights = by_split(counts, size)
    return weights / weights.sum()


@wrong(caught_by=weigh.one_row_alone)
def without_g(counts, size):
    micro = counts.split(size)
    return torch.cat([counts.sum() / one.sum().expand(len(one)) for one in micro])


@wrong(caught_by=weigh.one_row_alone)
def all_ones(counts, size):
    return torch.ones(len(counts))


@wrong(caught_by=weigh.one_row_alone)
def by_the_longest(counts, size):
    return counts.max() / counts


@wrong(caught_by=weigh.several_rows)
def by_rows_alone(counts, size):
    return counts.double().mean() / counts


@wrong(caught_by=weigh.several_rows)
def mean_of_the_rows(counts, size):
    own = (counts.double().mean() / counts).split(size)
    return torch.cat([one.mean().expand(len(one)) for one in own])


@wrong(caught_by=weigh.any_cut)
def g_rounded_down(counts, size):
    micro, g = counts.split(size), max(1, len(counts) // size)
    return torch.cat([counts.sum() / (g * one.sum()).expand(len(one)) for one in micro])


@wrong(caught_by=weigh.any_cut)
def g_as_a_fraction(counts, size):
    micro, g = counts.split(size), len(counts) / size
    return torch.cat([counts.sum() / (g * one.sum()).expand(len(one)) for one in micro])
