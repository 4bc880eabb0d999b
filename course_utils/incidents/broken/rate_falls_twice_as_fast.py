"""A schedule made for optimizer steps, which accelerate steps once per process."""

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from transformers import get_linear_schedule_with_warmup

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, batches, logged, reply_rows
from course_utils.incidents.two_ranks import of_two_ranks
from course_utils.reproductions.lesson_07.never_stops import base_model
from course_utils.reproductions.two_processes import WORLD

STEPS, SIZE = 12, 4


def _build(*, seed: int, steps_of_schedule: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(SIZE * STEPS * WORLD, seed, tokenizer)
    steps = batches(rows, SIZE, tokenizer.pad_token_id)

    def train(rank: int) -> list[dict]:
        AcceleratorState._reset_state(reset_partial_state=True)  # of what was before the fork
        accelerator = Accelerator(cpu=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        schedule = get_linear_schedule_with_warmup(optimizer, 0, steps_of_schedule)
        wrapped, prepared, schedule = accelerator.prepare(model, optimizer, schedule)
        log = []
        for number, batch in enumerate(steps[rank::WORLD], 1):
            rate = schedule.get_last_lr()[0]
            loss = wrapped(**batch).loss
            accelerator.backward(loss)
            prepared.step()
            schedule.step()
            prepared.zero_grad()
            log.append({"step": number, "loss": loss.item(), "learning_rate": rate})
        return log

    return of_two_ranks(model, train, steps[0])


INCIDENT = Incident(
    name="rate_falls_twice_as_fast",
    title="schedule stepped once per process",
    kind="schedule",
    says="On N GPUs the learning rate falls N times as fast and is 0 before the end.",
    cause="A prepared schedule is stepped once per process, but this one was made for the number "
    "of optimizer steps.",
    fix="Make the schedule for steps * accelerator.num_processes, or do not prepare it.",
    threads=("accelerate#2926", "accelerate#2142"),
    make=Variants(
        _build,
        broken={"steps_of_schedule": STEPS},
        twin={"steps_of_schedule": STEPS * WORLD},
    ),
    shows=lambda run: sum(rate == 0 for rate in logged(run, "learning_rate")) >= STEPS // 2 - 1,
    causes=("rate_zero", "nothing_moves"),
    place="scheduler",
)
