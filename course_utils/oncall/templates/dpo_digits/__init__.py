"""DPOTrainer on sums of three numbers against sums with one wrong digit."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 384


def rows(seed: int) -> dict[str, Rows]:
    from course_utils.oncall.measuring import pairs  # takes seconds

    return {"data/pairs.jsonl": pairs(NUM_ROWS, seed=seed, split="train", level="hard")}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import pairs, preferred, served, sums

    seen = preferred(result, pairs(192, seed=7, split="test", level="hard"))
    return seen | {"right": served(result, sums(128, level="hard"), most=8)["right"]}


TEMPLATE = Template(
    name="dpo_digits",
    about="DPO of a small model on sums against sums with one wrong digit.",
    base=partial(noisy, noise=0.2),
    rows=rows,
    measure=measure,
    metrics={
        "preferred": Metric("share of held-out pairs in the right order", higher=True, grain=0.04),
        "margin": Metric(
            "mean gain of the wanted over the other reply, nats", higher=True, grain=0.3
        ),
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
    },
    sizes=("model", "max_steps", "batch_size", "grad_accum"),
)
