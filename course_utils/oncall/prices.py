"""What a look at a ticket with a budget costs: the one place that says a price.

Code and settings cost more than what a run leaves and what measures it: a reader who paid the same
for both solved twelve of twelve tickets by reading the file that the letter made her suspect. What
trains costs more than what reads, and `diagnose`, which watches a training, costs both together.

A check trains the files twice and says whether they are healthy, so it is an instrument as well.
The first is free, because everybody must be able to hand in; each further one costs as much as a
training. A reader who had them for nothing bought no training. A program of the bench has no check:
it is judged once, when it has ended.
"""

from dataclasses import dataclass

EXPLAIN, TRAIN, DIAGNOSE, CHECK = "explain", "train", "diagnose", "check"
INSTRUMENTS = {EXPLAIN: 1, TRAIN: 2, DIAGNOSE: 3}
CODE, OF_CODE = (".py", ".yaml"), 3
OF_CHECK = 2  # from the second on
OF_THE_REST = 1


@dataclass(frozen=True)
class Bill:
    """How many looks a ticket allows, and what they were spent on, in order."""

    num_looks: int
    paid: tuple[str, ...]

    @property
    def spent(self) -> int:
        return sum(map(price, self.paid))

    @property
    def left(self) -> int:
        return self.num_looks - self.spent

    def __str__(self) -> str:
        return f"looks: {self.spent} of {self.num_looks} ({', '.join(self.paid) or 'none yet'})"


def price(thing: str) -> int:
    """What one look costs.

    >>> price("config.yaml"), price("train"), price("diagnose"), price("data/train.jsonl")
    (3, 2, 3, 1)
    """
    if thing == CHECK:
        return OF_CHECK
    return INSTRUMENTS.get(thing, OF_CODE if thing.endswith(CODE) else OF_THE_REST)
