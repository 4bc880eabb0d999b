"""Right and wrong answers of exercise 09.8."""

from course_utils.exercises.lesson_09 import mend
from course_utils.exercises.lesson_09.mend import ALL_THREE
from tests.answers import answers_of

right, wrong = answers_of(mend.MEND)


right({"temperature": 1.0, "sync_every": 1, "chat_template": "bare"})
right(ALL_THREE | {"clip_ratio": 0.3})
wrong({}, caught_by=mend.changes_a_run)
wrong({"seed": 3}, caught_by=mend.changes_a_run)
wrong({"weights": "both"}, caught_by=mend.changes_a_run)
wrong({"chat_template": None}, caught_by=mend.changes_a_run)
wrong({"sync_every": 0.5}, caught_by=mend.changes_a_run)
wrong({"weights": "token"}, caught_by=mend.both_sides_agree)
wrong({"weights": "sequence", "clip_ratio": 0.01}, caught_by=mend.both_sides_agree)
wrong({"learning_rate": 0.0}, caught_by=mend.both_sides_agree)
wrong({"kl_loss_coef": 1.0}, caught_by=mend.both_sides_agree)
wrong({"chat_template": "bare", "logits_divided_by": 0.7}, caught_by=mend.both_sides_agree)
wrong({"chat_template": "bare", "sync_every": 1}, caught_by=mend.both_sides_agree)
wrong(ALL_THREE | {"sync_every": 2}, caught_by=mend.both_sides_agree)
wrong(ALL_THREE | {"learning_rate": 0.0}, caught_by=mend.policy_still_learns)
wrong(ALL_THREE | {"learning_rate": 0.03}, caught_by=mend.policy_still_learns)
wrong(
    ALL_THREE | {"temperature": 5.0, "logits_divided_by": 5.0},
    caught_by=mend.policy_still_learns,
)
