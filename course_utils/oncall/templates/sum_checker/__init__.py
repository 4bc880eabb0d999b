"""Trainer on a classifier: whether a reply to a sum is right, with a new head of two classes."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 960


def judged(n: int, seed: int, split: str) -> Rows:
    """One reply to each question; three in ten are wrong."""
    from course_utils.oncall.measuring import pairs  # takes seconds

    drawn = random.Random(seed)
    rows = []
    for one in pairs(n, seed=seed, split=split, rejected="guess"):
        verdict, key = ("wrong", "rejected") if drawn.random() < 0.3 else ("right", "chosen")
        rows.append({"question": one["question"], "reply": one[key], "verdict": verdict})
    return rows


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": judged(NUM_ROWS, seed, "train")}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.templates.sum_checker.verdicts import told

    return told(result, judged(256, 7, "test"))


TEMPLATE = Template(
    name="sum_checker",
    about="A classifier that tells right sums from wrong ones; three in ten of its rows are wrong.",
    base=partial(noisy, noise=0.05),
    rows=rows,
    measure=measure,
    metrics={
        "told": Metric("share of held-out replies told right", higher=True, grain=0.05),
        "wrong": Metric("share of the wrong replies told as wrong", higher=True, grain=0.08),
        "alone": Metric("share told right, one reply a batch", higher=True, grain=0.05),
    },
    sizes=("model", "max_steps", "batch_size"),
)
