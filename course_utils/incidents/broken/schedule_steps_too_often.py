"""A loop that steps its schedule after each micro-batch: the rate is 0 after a quarter."""

import torch
from transformers import get_linear_schedule_with_warmup

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, batches, logged, of_loop, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

STEPS, ACCUMULATED = 16, 4


def _loss(model, batch):
    """The mean over micro-batches of four rows; these replies are alike in length."""
    parts = zip(*(value.chunk(ACCUMULATED) for value in batch.values()), strict=True)
    losses = [model(**dict(zip(batch, part, strict=True))).loss for part in parts]
    return sum(losses) / ACCUMULATED


def _build(*, seed: int, ticks: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return of_loop(
        model,
        optimizer,
        batches(reply_rows(16 * STEPS, seed, tokenizer), 16, tokenizer.pad_token_id),
        loss=_loss,
        schedule=get_linear_schedule_with_warmup(optimizer, 2, STEPS),
        ticks=ticks,
        tokenizer=tokenizer,
    )


INCIDENT = Incident(
    name="schedule_steps_too_often",
    title="schedule stepped per micro-batch",
    kind="schedule",
    says="The learning rate falls to 0 long before the end, and the loss stays where it is.",
    cause="The schedule counts optimizer steps but is stepped after each micro-batch.",
    fix="Step the schedule together with the optimizer.",
    threads=("llama-cookbook#27", "FastChat#2072"),
    make=Variants(_build, broken={"ticks": ACCUMULATED}, twin={"ticks": 1}),
    shows=lambda run: sum(rate == 0 for rate in logged(run, "learning_rate")) > STEPS / 2,
    causes=("rate_zero", "nothing_moves"),
    place="scheduler",
)
