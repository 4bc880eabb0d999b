"""grad_norm in the tens, in a run whose updates are bounded by clipping."""

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import logged, of_trainer, plain_trainer, reply_rows


def _make(seed: int) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    rows = [(ids, ids) for ids, _labels in reply_rows(16 * 24, seed, tokenizer)]
    trainer = plain_trainer(
        model, rows, tokenizer.pad_token_id, learning_rate=3e-4, max_steps=24, seed=seed
    )
    return of_trainer(trainer, tokenizer=tokenizer)


def _holds(run: Run) -> bool:
    losses = logged(run)
    return max(logged(run, "grad_norm")) > 10 and losses[-1] < 0.6 * losses[0]


LOOK_ALIKE = LookAlike(
    name="large_norm_that_is_clipped",
    title="large gradient norm that is clipped",
    looks="grad_norm is 10 to 100 in the first steps.",
    because="What is logged is the norm before clipping; the update is made with a norm of 1, and "
    "the loss falls.",
    threads=("trl#491",),
    make=_make,
    holds=_holds,
)
