"""Answers to exercise 08.2, right and wrong."""

import torch


def by_split(counts, size):
    micro = counts.split(size)
    total = counts.sum()
    return torch.cat([total / (len(micro) * one.sum()).expand(len(one)) for one in micro])


def by_loop(counts, size):
    rows = counts.tolist()
    micro = [sum(rows[at : at + size]) for at in range(0, len(rows), size)]
    return torch.tensor([sum(rows) / len(micro) / micro[n // size] for n in range(len(rows))])


def by_index(counts, size):
    home = torch.arange(len(counts)) // size
    micro = torch.zeros(int(home.max()) + 1, dtype=torch.float64).index_add(
        0, home, counts.double()
    )
    return micro.mean() / micro[home]


def a_list(counts, size):
    return by_loop(counts, size).tolist()


def one_number(counts, size):
    return counts.double().mean() / counts.double().min()


def whole_numbers(counts, size):
    return by_loop(counts, size).long()


def upside_down(counts, size):
    return 1 / by_split(counts, size)


def shares(counts, size):
    weights = by_split(counts, size)
    return weights / weights.sum()


def without_g(counts, size):
    micro = counts.split(size)
    return torch.cat([counts.sum() / one.sum().expand(len(one)) for one in micro])


def all_ones(counts, size):
    return torch.ones(len(counts))


def by_the_longest(counts, size):
    return counts.max() / counts


def by_rows_alone(counts, size):
    return counts.double().mean() / counts


def mean_of_the_rows(counts, size):
    own = (counts.double().mean() / counts).split(size)
    return torch.cat([one.mean().expand(len(one)) for one in own])


def g_rounded_down(counts, size):
    micro, g = counts.split(size), max(1, len(counts) // size)
    return torch.cat([counts.sum() / (g * one.sum()).expand(len(one)) for one in micro])


def g_as_a_fraction(counts, size):
    micro, g = counts.split(size), len(counts) / size
    return torch.cat([counts.sum() / (g * one.sum()).expand(len(one)) for one in micro])
