"""Weights in float16 and fp16=True: the scaler meets gradients that it cannot unscale."""

from transformers import Trainer

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, error, of_trainer, plain_trainer, reply_rows
from course_utils.zoo.mixed_precision import Float16OnCpu


class HalfTrainer(Float16OnCpu, Trainer):
    """The Trainer, with fp16=True obeyed on a CPU."""


def _build(*, seed: int, dtype: str) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    trainer = plain_trainer(
        zoo.load_policy("tiny", device="cpu", dtype=dtype),
        reply_rows(48, seed, tokenizer),
        tokenizer.pad_token_id,
        kind=HalfTrainer,
        fp16=True,
        max_steps=6,
        learning_rate=1e-4,
        seed=seed,
    )
    return of_trainer(trainer, raises=ValueError)


INCIDENT = Incident(
    name="unscale_half",
    title="float16 weights under the gradient scaler",
    kind="half_precision",
    says="ValueError: Attempting to unscale FP16 gradients.",
    cause="The trained weights themselves are float16, but the scaler of fp16=True can only "
    "unscale float32 gradients.",
    fix="Load the weights in float32; fp16=True casts where that is safe.",
    threads=("transformers#23165", "peft#341"),
    make=Variants(_build, broken={"dtype": "float16"}, twin={"dtype": "float32"}),
    shows=lambda run: "unscale FP16 gradients" in error(run),
    rebuilt="fp16=True, which a CPU ignores, is obeyed.",
    causes=("unscale_half",),
    place="float16",
    lesson="03_reward_nan",
)
