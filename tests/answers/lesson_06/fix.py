"""Right and wrong answers of exercise 06.10."""

import torch

from course_utils.exercises.lesson_06 import fix
from tests.answers import answers_of

right, wrong = answers_of(fix.FIX)


right({"enable_input_require_grads": True})
right({"gradient_checkpointing_kwargs": None})
right({"gradient_checkpointing_kwargs": {"use_reentrant": False, "preserve_rng_state": True}})
wrong({"use_reentrant": False}, caught_by=fix.one_setting_of_the_run)
wrong({"callbacks": [print]}, caught_by=fix.one_setting_of_the_run)
wrong({"seed": 7}, caught_by=fix.one_setting_of_the_run)
wrong({"gradient_checkpointing_kwargs": False}, caught_by=fix.one_setting_of_the_run)
wrong(
    {"gradient_checkpointing_kwargs": {"use_reentrant": False, "save_strategy": True}},
    caught_by=fix.one_setting_of_the_run,
)
wrong(
    {"gradient_checkpointing_kwargs": {"use_reentrant": "False"}},
    caught_by=fix.one_setting_of_the_run,
)
wrong(
    {"enable_input_require_grads": True, "learning_rate": 1e-2},
    caught_by=fix.one_setting_of_the_run,
)
wrong({"task_type": "CAUSAL_LM"}, caught_by=fix.does_not_raise)
wrong({"task_type": None}, caught_by=fix.does_not_raise)
wrong({"learning_rate": 1e-20}, caught_by=fix.head_is_trained)
wrong({}, caught_by=fix.adapters_move)
wrong({"learning_rate": 5e-2}, caught_by=fix.adapters_move)
wrong({"bf16": True}, caught_by=fix.adapters_move)
wrong({"dtype": torch.bfloat16}, caught_by=fix.adapters_move)
wrong({"optim": "sgd"}, caught_by=fix.adapters_move)
wrong({"gradient_checkpointing": False}, caught_by=fix.memory_is_still_saved)
