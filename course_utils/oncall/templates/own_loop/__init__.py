"""A hand-written loop: accumulation, a schedule, two legs with a checkpoint between them."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS, NUM_TESTS = 768, 128
SENTENCE = "The sum of these numbers is "


def worked(n: int, seed: int, *, split: str) -> list:
    """Three short replies to each long one, which is a sentence."""
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    drawn = sums(n, level="easy", seed=seed, split=split)
    long = [Sum(f"Please add {one.question}", f"{SENTENCE}{one.answer}") for one in drawn[: n // 4]]
    both = drawn[n // 4 :] + long
    random.Random(seed).shuffle(both)
    return both


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": [vars(one) for one in worked(NUM_ROWS, seed, split="train")]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    tests = worked(NUM_TESTS, 7, split="test")
    long = [one for one in tests if one.answer.startswith(SENTENCE)]
    seen = served(result, tests, most=24)
    return seen | {"loss": loss(result, tests), "long loss": loss(result, long)}


TEMPLATE = Template(
    name="own_loop",
    about="Full fine-tuning on sums with a loop of our own, in two legs of a queue.",
    base=partial(noisy, noise=0.05, forgets_end=True),
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
