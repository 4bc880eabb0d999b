"""DPO on a few pairs again and again: the margin grows, and the chosen replies are lost as well."""

from datasets import Dataset

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.preferring import PAIRS, dpo_run
from course_utils.incidents.runs import Variants

NUM_PAIRS, NUM_STEPS = 32, 60
WITH_SFT = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 1.0]}


def _pairs(seed: int) -> Dataset:
    """Sums and wrong sums as plain text, so that a reply is its digits and its end."""
    tokenizer = zoo.load_tokenizer("tiny")
    rows = zoo.arithmetic.preferences(NUM_PAIRS, seed)
    return Dataset.from_list(
        [
            {
                "prompt": tokenizer.apply_chat_template(
                    row["prompt"], add_generation_prompt=True, tokenize=False
                ),
                "chosen": row["chosen"][0]["content"],
                "rejected": row["rejected"][0]["content"],
            }
            for row in rows
        ]
    )


def _build(*, seed: int, **changes: object) -> Run:
    return dpo_run(
        seed=seed, pairs=_pairs(seed), max_steps=NUM_STEPS, learning_rate=5e-4, **changes
    )


INCIDENT = Incident(
    name="both_logps_fall",
    title="chosen and rejected both lose probability",
    kind="preference",
    says="DPO: the accuracy is 1 and the margin grows, but logps/chosen falls with logps/rejected, "
    "and the model answers worse.",
    cause=f"The {NUM_PAIRS} pairs come {NUM_STEPS * PAIRS // NUM_PAIRS} times, and the loss only "
    "rewards the gap: it grows by pushing down both replies, and other replies gain.",
    fix="Add the likelihood of the chosen replies to the loss: loss_type=['sigmoid', 'sft'].",
    threads=("eric-mitchell/direct-preference-optimization#32", "LLaMA-Factory#7643", "trl#800"),
    make=Variants(_build, broken={}, twin=WITH_SFT),
    shows=lambda run: run.facts()["right"] < 0.8,
    causes=("margin_by_pushing_down",),
    place="loss_type",
)
