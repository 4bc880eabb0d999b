"""Right and wrong answers of exercise 03.5."""

import torch

from course_utils.exercises.lesson_03 import fix
from tests.answers import answers_of

right, wrong = answers_of(fix.FIX)


right({"dtype": "bfloat16", "learning_rate": 1e-3})
right({"dtype": torch.float32, "optim": "adamw_torch_fused"})
right({"dtype": "float64"})
right({"dtype": "auto", "learning_rate": 5e-4})
wrong({}, caught_by=fix.all_finite)
wrong({"gradient_accumulation_steps": 1}, caught_by=fix.all_finite)
wrong({"max_grad_norm": 0.1}, caught_by=fix.all_finite)
wrong({"max_grad_norm": 0.0}, caught_by=fix.all_finite)
wrong({"learning_rate": 1e-6}, caught_by=fix.all_finite)
wrong({"logging_nan_inf_filter": False}, caught_by=fix.all_finite)
wrong({"task_type": None}, caught_by=fix.head_is_trained)
wrong({"dtype": "float32", "task_type": None}, caught_by=fix.head_is_trained)
wrong({"dtype": "bfloat16"}, caught_by=fix.head_moves)
wrong({"dtype": "auto"}, caught_by=fix.head_moves)
wrong({"dtype": torch.bfloat16, "optim": "adamw_torch_fused"}, caught_by=fix.head_moves)
wrong({"dtype": "float32", "learning_rate": 0.0}, caught_by=fix.head_moves)
wrong({"optim": "sgd"}, caught_by=fix.head_moves)
wrong({"dtype": "float32", "learning_rate": 1e-8}, caught_by=fix.head_moves)
wrong({"dtype": "float32", "adam_epsilon": 1.0}, caught_by=fix.head_moves)
wrong({"adam_epsilon": 1e-4}, caught_by=fix.steps_are_sane)
wrong({"adam_epsilon": 1e-6}, caught_by=fix.steps_are_sane)
wrong({"optim": "sgd", "learning_rate": 1.0}, caught_by=fix.steps_are_sane)
wrong({"dtype": "float32", "learning_rate": 1.0}, caught_by=fix.steps_are_sane)
wrong({"optim": "adamw_torch_fused"}, caught_by=fix.remembers_gradients)
wrong({"optim": "adamw_torch_fused", "learning_rate": 1e-4}, caught_by=fix.remembers_gradients)
wrong({"optim": "sgd", "learning_rate": 1e-3}, caught_by=fix.remembers_gradients)
wrong({"adam_epsilon": 1e-3}, caught_by=fix.remembers_gradients)
wrong({"dtype": "float32", "seed": 1}, caught_by=fix.settings_are_asked)
wrong({"dtype": "float32", "optim": "adafactor"}, caught_by=fix.settings_are_asked)
wrong({"dtype": "float32", "callbacks": []}, caught_by=fix.settings_are_asked)
wrong({"gradient_accumulation_steps": 0}, caught_by=fix.settings_are_asked)
wrong({"dtype": "float32", "learning_rate": "1e-3"}, caught_by=fix.settings_are_asked)
wrong({"dtype": "fp32"}, caught_by=fix.settings_are_asked)
wrong(
    {"dtype": "float32", "learning_rate": 1e-3, "max_grad_norm": 0.5},
    caught_by=fix.settings_are_asked,
)
