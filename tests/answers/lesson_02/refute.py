"""Right and wrong answers of exercise 02.3."""

from course_utils.exercises.lesson_02 import refute
from tests.answers import answers_of

right, wrong = answers_of(refute.REFUTE)

SCHEDULE = {"learning_rate": 1e-4, "warmup_steps": 0.1, "lr_scheduler_type": "cosine"}

right(SCHEDULE)
right({"gradient_accumulation_steps": 5})
right(SCHEDULE | {"learning_rate": 6e-5, "warmup_steps": 0.5})
wrong({}, caught_by=refute.FORM)
wrong({"weight_decay": 0.1}, caught_by=refute.FORM)
wrong({"max_grad_norm": 0.01, "bf16": True}, caught_by=refute.FORM)
wrong({"max_grad_norm": 0.01, "seed": 3}, caught_by=refute.FORM)
wrong({"warmup_ratio": 0.1}, caught_by=refute.FORM)
wrong(SCHEDULE | {"learning_rate": "5e-5"}, caught_by=refute.FORM)
wrong({"max_grad_norm": float("nan")}, caught_by=refute.FORM)
wrong({"gradient_accumulation_steps": 8.5}, caught_by=refute.FORM)
wrong({"gradient_accumulation_steps": 4096}, caught_by=refute.FORM)
wrong({"learning_rate": 5e-5}, caught_by=refute.switches_a_cause_on)
wrong({"lr_scheduler_type": "cosine"}, caught_by=refute.switches_a_cause_on)
wrong(
    {"gradient_accumulation_steps": 8, "learning_rate": 5e-5, "warmup_steps": 0.1},
    caught_by=refute.switches_a_cause_on,
)
wrong(
    {"max_grad_norm": 0.01, "gradient_accumulation_steps": 8}, caught_by=refute.switches_a_cause_on
)
wrong(SCHEDULE | {"max_grad_norm": 0.01}, caught_by=refute.switches_a_cause_on)
wrong({"gradient_accumulation_steps": 4}, caught_by=refute.is_harsher_than_the_table)
wrong({"max_grad_norm": 0.1}, caught_by=refute.is_harsher_than_the_table)
wrong({"max_grad_norm": 1.0}, caught_by=refute.is_harsher_than_the_table)
wrong({"max_grad_norm": 0}, caught_by=refute.is_harsher_than_the_table)
wrong(SCHEDULE | {"learning_rate": 5e-6}, caught_by=refute.is_harsher_than_the_table)
wrong(SCHEDULE | {"lr_scheduler_type": "linear"}, caught_by=refute.is_harsher_than_the_table)
wrong(SCHEDULE | {"warmup_steps": 0}, caught_by=refute.is_harsher_than_the_table)
wrong(
    {"learning_rate": 1e-3, "warmup_steps": 1000, "lr_scheduler_type": "cosine"},
    caught_by=refute.is_harsher_than_the_table,
)
wrong(SCHEDULE | {"warmup_steps": 0.9}, caught_by=refute.is_harsher_than_the_table)
wrong(SCHEDULE | {"learning_rate": 1e38}, caught_by=refute.run_lives)
