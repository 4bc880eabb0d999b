"""A loss that rises in the first steps and falls after them."""

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(16 * 30, seed, tokenizer),
        tokenizer.pad_token_id,
        learning_rate=2e-3,
        warmup_steps=6,
        max_steps=30,
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    losses = logged(run)
    return max(losses[1:10]) > 1.2 * losses[0] and losses[-1] < 0.7 * losses[0]


LOOK_ALIKE = LookAlike(
    name="rises_in_the_warmup",
    title="loss rises during the warm-up",
    looks="The loss climbs above its start for the first steps.",
    because="AdamW's first steps are full steps, whatever the size of the gradient; the loss "
    "turns and ends far below its start.",
    threads=("FastChat#300",),
    make=_make,
    holds=_holds,
)
