"""GRPOTrainer with rewards of one's own: the policy can add, and says nothing too often."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 192
METRICS = {
    "right": Metric("share of held-out sums right, greedily", higher=True, grain=0.06),
    "sampled": Metric("share of held-out sums right when sampled", higher=True, grain=0.06),
    "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
}


def rows(seed: int) -> dict[str, Rows]:
    from course_utils.oncall.measuring import sums  # takes seconds

    drawn = sums(NUM_ROWS, level="hard", seed=seed, split="train")
    return {"data/train.jsonl": [vars(one) for one in drawn]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import served, sums

    tests = sums(192, level="hard")
    greedy = served(result, tests[:96], most=8)
    sampled = served(result, tests, most=8, sample=True)
    return {"right": greedy["right"], "sampled": sampled["right"], "halts": sampled["halts"]}


TEMPLATE = Template(
    name="grpo_sums",
    about="GRPO on sums of three numbers with rewards of our own; the policy can add already.",
    base=partial(noisy, noise=0.05),
    rows=rows,
    measure=measure,
    metrics=METRICS,
    sizes=(
        *("model", "max_steps", "prompts_per_step", "num_generations"),
        *("max_completion_length",),
    ),
)
