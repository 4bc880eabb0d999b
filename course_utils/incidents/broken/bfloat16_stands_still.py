"""Weights in bfloat16, trained at a learning rate whose updates round away."""

import torch

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, moves, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, dtype: torch.dtype) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed).to(dtype)
    trainer = plain_trainer(
        model,
        reply_rows(192, seed, tokenizer),
        tokenizer.pad_token_id,
        learning_rate=6e-7,
        lr_scheduler_type="constant",
        max_steps=12,
        seed=seed,
    )
    return of_trainer(trainer, moves(model))


INCIDENT = Incident(
    name="bfloat16_stands_still",
    title="updates lost to bfloat16 rounding in fine-tuning",
    kind="rounding",
    says="Full fine-tuning in bfloat16 at a learning rate of 6e-7: the loss stays flat.",
    cause="An update of 6e-7 is less than half the gap between neighbouring bfloat16 numbers, so "
    "nearly every weight rounds back to its old value.",
    fix="Keep the weights in float32 and compute in bfloat16 (bf16=True).",
    threads=("torchtune#2254", "pytorch#120376"),
    make=Variants(_build, broken={"dtype": torch.bfloat16}, twin={"dtype": torch.float32}),
    shows=lambda run: run.facts()["moved"] < 0.25,
    causes=("nothing_moves",),
    place="bfloat16",
    lesson="01_floats",
)
