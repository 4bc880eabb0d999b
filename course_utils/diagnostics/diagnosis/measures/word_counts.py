"""Naive Bayes over token ids: what labels a count of words alone would give. Needs no model."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

TOO_MANY = 32  # labels
MOST_TOKENS = 256  # of a row


class WordCounts:
    """How often each token stands in rows of each label."""

    def __init__(self, rows: Sequence[Sequence[int]], labels: Sequence[int]) -> None:
        self.rows = Counter(labels)
        self.tokens: dict[int, Counter] = defaultdict(Counter)
        for ids, label in zip(rows, labels, strict=True):
            self.tokens[label].update(set(ids[:MOST_TOKENS]))

    def label_of(self, ids: Sequence[int]) -> int:
        """The likeliest label of a row."""
        return max(self.rows, key=lambda label: self._score(set(ids[:MOST_TOKENS]), label))

    def margin(self, ids: Sequence[int]) -> float:
        """By how much the likeliest label leads the next one, in nats; words that are new tell
        little."""
        second, first = sorted(self._score(set(ids[:MOST_TOKENS]), one) for one in self.rows)[-2:]
        return first - second

    def _score(self, ids: set[int], label: int) -> float:
        count, seen = self.rows[label], self.tokens[label]
        own = sum(math.log((seen[one] + 0.5) / (count + 1)) for one in ids)
        return math.log(count) + own


def share_right(counts: WordCounts, rows: Sequence, labels: Sequence[int]) -> float:
    right = sum(counts.label_of(ids) == label for ids, label in zip(rows, labels, strict=True))
    return right / max(1, len(rows))


def across_halves(rows: Sequence, labels: Sequence[int]) -> float:
    """The share of rows whose label a count on the other half of the rows gives."""
    sides = [(list(rows[i::2]), list(labels[i::2])) for i in (0, 1)]
    both = [share_right(WordCounts(*sides[1 - i]), *sides[i]) for i in (0, 1)]
    return sum(both) / 2
