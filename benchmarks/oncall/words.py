"""Whether a ticket's words give its class away: a bag-of-words guess, leaving one out.

The guess is naive Bayes with Laplace's smoothing; chance is the same guess with classes shuffled.
"""

import math
import random
import re
from collections import Counter, defaultdict

from course_utils.oncall.declare import Case

NUM_SHUFFLES = 100


def guessed(cases: list[Case]) -> tuple[int, float, int]:
    """How many classes are guessed, how many on average with shuffled classes, of how many.

    Only tickets of one fault whose class others have as well.
    """
    alone = [case for case in cases if len(case.faults) == 1]
    often = Counter(case.faults[0].kind for case in alone)
    chosen = [case for case in alone if often[case.faults[0].kind] > 1]
    bags = [Counter(words(case.ticket)) for case in chosen]
    kinds = [case.faults[0].kind for case in chosen]
    drawn, shuffled = random.Random(0), []
    for _ in range(NUM_SHUFFLES):
        shuffled.append(_num_right(bags, drawn.sample(kinds, len(kinds))))
    return _num_right(bags, kinds), sum(shuffled) / NUM_SHUFFLES, len(chosen)


def words(text: str) -> list[str]:
    """The words of a text, in small letters.

    >>> words("The loss is 0.69!")
    ['the', 'loss', 'is']
    """
    return re.findall(r"[a-z]+", text.lower())


def _num_right(bags: list[Counter], kinds: list[str]) -> int:
    return sum(
        _guess(bag, bags[:at] + bags[at + 1 :], kinds[:at] + kinds[at + 1 :]) == kinds[at]
        for at, bag in enumerate(bags)
    )


def _guess(bag: Counter, bags: list[Counter], kinds: list[str]) -> str:
    by_kind: dict[str, Counter] = defaultdict(Counter)
    for other, kind in zip(bags, kinds, strict=True):
        by_kind[kind].update(other)
    known = len(set().union(*bags))
    prior = Counter(kinds)

    def score(kind: str) -> float:
        counts = by_kind[kind]
        total = counts.total() + known
        of_words = sum(n * math.log((counts[word] + 1) / total) for word, n in bag.items())
        return math.log(prior[kind] / len(kinds)) + of_words

    return max(sorted(by_kind), key=score) if by_kind else ""
