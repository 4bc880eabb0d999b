"""Right and wrong answers of exercise 10.2."""

import re
from collections import Counter
from itertools import groupby
from statistics import median

import numpy as np

from course_utils.exercises.lesson_10 import trick
from course_utils.exercises.lesson_10.trick import _grouped, _shape, by_groups
from tests.answers import answers_of

right, wrong = answers_of(trick.TRICK)


@right
def by_sorting(rows):
    best, name = float("-inf"), None
    ordered = sorted(rows, key=lambda row: _shape(row[0]))
    for kind, group in groupby(ordered, key=lambda row: _shape(row[0])):
        members = list(group)
        gap = sum(row[1] - row[2] for row in members) / len(members)
        if len(members) > 4 and gap > best:
            best, name = gap, kind
    return name


@right
def by_arrays(rows):
    shapes = np.array([re.sub("[0-9]", "9", reply) for reply, _, _ in rows])
    over = np.array([float(reward) - bool(right) for _, reward, right in rows])
    names, counts = np.unique(shapes, return_counts=True)
    gaps = [
        over[shapes == n].mean() if c >= 5 else -np.inf for n, c in zip(names, counts, strict=True)
    ]
    return str(names[int(np.argmax(gaps))])


@wrong(caught_by=trick.gives_a_shape)
def a_list(rows):
    return [by_groups(rows)]


@wrong(caught_by=trick.gives_a_shape)
def the_reply_itself(rows):
    return max(rows, key=lambda row: len(row[0]))[0]


@wrong(caught_by=trick.names_the_silence)
def commonest(rows):
    return Counter(_shape(reply) for reply, _, _ in rows).most_common(1)[0][0]


@wrong(caught_by=trick.compares_with_the_truth)
def never_right_best_paid(rows):
    """Of the shapes that are never right, the best paid."""
    kinds = {k: v for k, v in _grouped(rows).items() if not any(right for _, right in v)}
    means = {k: sum(p for p, _ in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(means, key=means.get, default="")


@wrong(caught_by=trick.compares_with_the_truth)
def always_silence(rows):
    return ""


@wrong(caught_by=trick.compares_with_the_truth)
def best_paid(rows):
    means = {k: sum(p for p, _ in pairs) / len(pairs) for k, pairs in _grouped(rows).items()}
    return max(means, key=means.get)


@wrong(caught_by=trick.compares_with_the_truth)
def ratio(rows):
    means = {
        k: sum(p for p, _ in pairs) / (1e-6 + sum(t for _, t in pairs))
        for k, pairs in _grouped(rows).items()
    }
    return max(means, key=means.get)


@wrong(caught_by=trick.takes_means)
def by_sums(rows):
    gaps = {k: sum(p - t for p, t in pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


@wrong(caught_by=trick.takes_means)
def by_medians(rows):
    gaps = {k: median(p - t for p, t in pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


@wrong(caught_by=trick.ignores_what_is_rare)
def every_shape(rows):
    kinds = _grouped(rows, at_least=1)
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(gaps, key=gaps.get)


@wrong(caught_by=trick.ignores_what_is_rare)
def more_than_five(rows):
    kinds = _grouped(rows, at_least=6)
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(gaps, key=gaps.get)


@wrong(caught_by=trick.compares_with_the_truth)
def what_is_overpaid_alone(rows):
    """Leaves out what right replies are owed."""
    gaps = {
        k: sum(max(p - t, 0) for p, t in pairs) / len(pairs) for k, pairs in _grouped(rows).items()
    }
    return max(gaps, key=gaps.get)


@wrong(caught_by=trick.tells_shapes_apart)
def stripped(rows):
    return by_groups([(reply.strip(), *rest) for reply, *rest in rows])


@wrong(caught_by=trick.tells_shapes_apart)
def in_small_letters(rows):
    return by_groups([(reply.lower(), *rest) for reply, *rest in rows])


@wrong(caught_by=trick.compares_with_the_truth)
def nothing_below_zero(rows):
    return by_groups([(reply, max(reward, 0.0), right) for reply, reward, right in rows])
