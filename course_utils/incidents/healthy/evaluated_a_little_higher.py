"""An evaluation loss a little above the training loss, and falling with it."""

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

STEPS = 30


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(160 + 64, seed, tokenizer)
    trainer = plain_trainer(
        model,
        rows[64:],
        tokenizer.pad_token_id,
        tested=rows[:64],
        eval_strategy="steps",
        eval_steps=10,
        max_steps=STEPS,  # three times over the rows
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    tested, last = logged(run, "eval_loss"), logged(run)[-5:]
    return tested[-1] < tested[0] and tested[-1] > 0.8 * sum(last) / 5


LOOK_ALIKE = LookAlike(
    name="evaluated_a_little_higher",
    title="evaluation loss slightly above training loss",
    looks="eval_loss differs from the training loss.",
    because="Rows that were trained on are a little easier; both losses fall.",
    threads=("transformers#33336",),
    make=_make,
    holds=_holds,
)
