"""RewardTrainer on sums against numbers out of thin air, every weight and a new head trained."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 640


def rows(seed: int) -> dict[str, Rows]:
    from course_utils.oncall.measuring import pairs  # takes seconds

    return {"data/pairs.jsonl": pairs(NUM_ROWS, seed=seed, split="train", rejected="guess")}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import pairs, scored

    return scored(result, pairs(256, seed=7, split="test", rejected="guess"))


TEMPLATE = Template(
    name="reward_pairs",
    about="A reward model on sums against numbers out of thin air.",
    base=partial(noisy, noise=0.1),
    rows=rows,
    measure=measure,
    metrics={
        "ordered": Metric("share of held-out pairs scored in order", higher=True, grain=0.05),
        "alone": Metric(
            "share of them in order, scored one reply at a time", higher=True, grain=0.05
        ),
        "loss": Metric("loss on held-out pairs, nats", higher=False, grain=0.05),
    },
    sizes=("model", "max_steps", "batch_size", "grad_accum"),
)
