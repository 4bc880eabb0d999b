"""One batch of many has no label: its loss is exactly 0 or nan, and the others are well."""

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

STEPS, ROWS_A_STEP = 40, 1


def _make(seed: int) -> Run:
    """Rows of a step each; in three of them the user speaks alone."""
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(STEPS * ROWS_A_STEP, seed, tokenizer)
    for at in (5, 17, 29):
        ids, _labels = rows[at]
        rows[at] = (ids, [-100] * len(ids))
    trainer = plain_trainer(
        model,
        rows,
        tokenizer.pad_token_id,
        per_device_train_batch_size=ROWS_A_STEP,
        learning_rate=3e-4,
        max_steps=STEPS,
        seed=seed,
    )
    return of_trainer(trainer, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    losses = logged(run)
    return losses.count(0.0) == 3 and sum(losses[-10:]) < sum(losses[:10])


LOOK_ALIKE = LookAlike(
    name="one_masked_batch",
    title="a few batches without labels",
    looks="The loss is exactly 0.0 in a few entries, with grad_norm 0.0.",
    because="Those batches have no token to learn from; all others do, and the loss falls.",
    threads=("trl#6320",),
    make=_make,
    holds=_holds,
)
