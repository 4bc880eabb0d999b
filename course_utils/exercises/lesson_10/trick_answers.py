"""Answers to exercise 10.2, right and wrong."""

import re
from collections import Counter, defaultdict
from itertools import groupby
from statistics import median

import numpy as np


def _shape(reply):
    return re.sub(r"\d", "9", reply)


def _grouped(rows, at_least=5):
    kinds = defaultdict(list)
    for reply, reward, right in rows:
        kinds[_shape(reply)].append((reward, right))
    return {kind: pairs for kind, pairs in kinds.items() if len(pairs) >= at_least}


def by_groups(rows):
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


def by_sorting(rows):
    best, name = float("-inf"), None
    ordered = sorted(rows, key=lambda row: _shape(row[0]))
    for kind, group in groupby(ordered, key=lambda row: _shape(row[0])):
        members = list(group)
        gap = sum(row[1] - row[2] for row in members) / len(members)
        if len(members) > 4 and gap > best:
            best, name = gap, kind
    return name


def by_arrays(rows):
    shapes = np.array([re.sub("[0-9]", "9", reply) for reply, _, _ in rows])
    over = np.array([float(reward) - bool(right) for _, reward, right in rows])
    names, counts = np.unique(shapes, return_counts=True)
    gaps = [
        over[shapes == n].mean() if c >= 5 else -np.inf for n, c in zip(names, counts, strict=True)
    ]
    return str(names[int(np.argmax(gaps))])


def a_list(rows):
    return [by_groups(rows)]


def the_reply_itself(rows):
    return max(rows, key=lambda row: len(row[0]))[0]


def commonest(rows):
    return Counter(_shape(reply) for reply, _, _ in rows).most_common(1)[0][0]


def never_right_best_paid(rows):
    """Of the shapes that are never right, the best paid."""
    kinds = {k: v for k, v in _grouped(rows).items() if not any(right for _, right in v)}
    means = {k: sum(p for p, _ in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(means, key=means.get, default="")


def always_silence(rows):
    return ""


def best_paid(rows):
    means = {k: sum(p for p, _ in pairs) / len(pairs) for k, pairs in _grouped(rows).items()}
    return max(means, key=means.get)


def ratio(rows):
    means = {
        k: sum(p for p, _ in pairs) / (1e-6 + sum(t for _, t in pairs))
        for k, pairs in _grouped(rows).items()
    }
    return max(means, key=means.get)


def by_sums(rows):
    gaps = {k: sum(p - t for p, t in pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


def by_medians(rows):
    gaps = {k: median(p - t for p, t in pairs) for k, pairs in _grouped(rows).items()}
    return max(gaps, key=gaps.get)


def every_shape(rows):
    kinds = _grouped(rows, at_least=1)
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(gaps, key=gaps.get)


def more_than_five(rows):
    kinds = _grouped(rows, at_least=6)
    gaps = {k: sum(p - t for p, t in pairs) / len(pairs) for k, pairs in kinds.items()}
    return max(gaps, key=gaps.get)


def what_is_overpaid_alone(rows):
    """Leaves out what right replies are owed."""
    gaps = {
        k: sum(max(p - t, 0) for p, t in pairs) / len(pairs) for k, pairs in _grouped(rows).items()
    }
    return max(gaps, key=gaps.get)


def stripped(rows):
    return by_groups([(reply.strip(), *rest) for reply, *rest in rows])


def in_small_letters(rows):
    return by_groups([(reply.lower(), *rest) for reply, *rest in rows])
