"""A hand-written loop: accumulation, a schedule, two legs with a checkpoint between them."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 640, 64


def worked(n: int, seed: int, *, split: str) -> list:
    """Three short replies to each long one, which works a sum of three numbers out."""
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    short = sums(n - n // 4, level="easy", seed=seed, split=split)
    long = []
    for one in sums(n // 4, level="hard", seed=seed, split=split):
        a, b, c = (int(part) for part in one.question[:-1].split("+"))
        said = f"{a}+{b}={a + b}, {a + b}+{c}={one.answer}"
        long.append(Sum(one.question, said))
    both = short + long
    random.Random(seed).shuffle(both)
    return both


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": [vars(one) for one in worked(NUM_ROWS, seed, split="train")]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    tests = worked(NUM_TESTS, 7, split="test")
    long = [one for one in tests if "," in one.answer]
    seen = served(result, tests, most=32)
    return seen | {"loss": loss(result, tests), "long loss": loss(result, long)}


TEMPLATE = Template(
    name="own_loop",
    about="Full fine-tuning on worked sums with a loop of our own, in two legs of a queue.",
    base=partial(noisy, noise=0.2, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
        "long loss": Metric("the same on long replies alone", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "legs", "micro_batch_size", "accumulation_steps"),
)
