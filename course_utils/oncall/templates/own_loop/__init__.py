"""A hand-written loop: accumulation, a schedule, four legs with a checkpoint between them."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 768, 128


def mixed(n: int, seed: int, *, split: str) -> list:
    """Three sums of two numbers to each sum of three."""
    from course_utils.oncall.measuring import sums  # takes seconds

    both = sums(n - n // 4, level="easy", seed=seed, split=split)
    both += sums(n // 4, level="hard", seed=seed, split=split)
    random.Random(seed).shuffle(both)
    return both


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": [vars(one) for one in mixed(NUM_ROWS, seed, split="train")]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    tests = mixed(NUM_TESTS, 7, split="test")
    return served(result, tests, most=16) | {"loss": loss(result, tests)}


TEMPLATE = Template(
    name="own_loop",
    about="Full fine-tuning on sums with a loop of our own, in four slots of a queue.",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "legs", "micro_batch_size", "accumulation_steps"),
)
