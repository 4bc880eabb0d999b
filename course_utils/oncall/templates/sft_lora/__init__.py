"""SFTTrainer with a LoRA adapter on sums, merged and exported: the base cannot stop yet."""

from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 800


def rows(seed: int) -> dict[str, Rows]:
    """Sums of two numbers, no question twice."""
    from course_utils.oncall.measuring import sums  # takes seconds

    drawn = sums(NUM_ROWS, level="easy", seed=seed, split="train")
    return {"data/train.jsonl": [vars(one) for one in drawn]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served, sums

    tests = sums(128, level="easy")
    return served(result, tests, most=12) | {"loss": loss(result, tests)}


TEMPLATE = Template(
    name="sft_lora",
    about="SFT of a small base model on sums, with a LoRA adapter that is merged and exported.",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size", "grad_accum", "lora_r", "target_modules"),
)
