"""A short run on one row a step: the loss jumps up and down."""

from itertools import pairwise

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    trainer = plain_trainer(
        model,
        reply_rows(48, seed, tokenizer),
        tokenizer.pad_token_id,
        per_device_train_batch_size=1,
        learning_rate=3e-4,
        max_steps=48,
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    losses = logged(run)
    rises = sum(b > a for a, b in pairwise(losses))
    return rises > 12 and sum(losses[-12:]) < sum(losses[:12])


LOOK_ALIKE = LookAlike(
    name="short_and_noisy",
    title="noisy loss with one row per step",
    looks="The loss goes up as often as down.",
    because="One row per step is a noisy estimate; the mean of a dozen entries falls.",
    threads=("FastChat#300",),
    make=_make,
    holds=_holds,
)
