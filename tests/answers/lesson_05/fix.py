"""Right and wrong answers of exercise 05.3."""

import torch

from course_utils.exercises.lesson_05 import fix
from tests.answers import answers_of

right, wrong = answers_of(fix.FIX)


right({"fp16": False, "dtype": "bfloat16"})
right({"fp16": False, "dtype": torch.bfloat16})
right({"fp16": False, "bf16": True, "dtype": "float32"})
wrong({}, caught_by=fix.every_step_finite)
wrong({"dtype": "bfloat16"}, caught_by=fix.every_step_finite)
wrong({"fp16": False, "dtype": torch.float16}, caught_by=fix.every_step_finite)
wrong({"fp16": False, "bf16": True, "dtype": "float16"}, caught_by=fix.every_step_finite)
wrong({"fp16": False}, caught_by=fix.products_in_16_bits)
wrong({"fp16": False, "dtype": "float64"}, caught_by=fix.products_in_16_bits)
wrong({"bf16": True}, caught_by=fix.has_the_settings_asked)
wrong({"fp16": "no", "bf16": True}, caught_by=fix.has_the_settings_asked)
wrong({"fp16": False, "dtype": "bf16"}, caught_by=fix.has_the_settings_asked)
wrong({"fp16": False, "bf16": True, "lora_alpha": 0}, caught_by=fix.has_the_settings_asked)
wrong({"fp16": False, "bf16": True, "seed": 3}, caught_by=fix.has_the_settings_asked)
wrong({"stretch": 1}, caught_by=fix.has_the_settings_asked)
wrong({"max_grad_norm": 0.1}, caught_by=fix.has_the_settings_asked)
