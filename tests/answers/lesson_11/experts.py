"""Right and wrong answers of exercise 11.5."""

from course_utils.exercises.lesson_11 import experts
from tests.answers import answers_of

right, wrong = answers_of(experts.EXPERTS)

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
SEVEN = [*ATTENTION, "gate_proj", "up_proj", "down_proj"]
STACKED = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]

right({"target_modules": SEVEN, "target_parameters": STACKED})
right({"target_modules": "all-linear", "target_parameters": STACKED, "r": 4, "lora_alpha": 16})

wrong({"target_modules": SEVEN}, caught_by=experts.reaches_the_experts)
wrong({"target_modules": SEVEN, "r": 32, "lora_alpha": 64}, caught_by=experts.reaches_the_experts)
wrong({"target_modules": "all-linear"}, caught_by=experts.reaches_the_experts)
wrong({"target_modules": [*SEVEN, "gate_up_proj"]}, caught_by=experts.reaches_the_experts)
wrong(
    {"target_modules": ATTENTION, "target_parameters": STACKED[1:]},
    caught_by=experts.reaches_the_experts,
)
wrong(
    {"target_modules": ATTENTION, "target_parameters": ["experts.up_proj", "experts.down_proj"]},
    caught_by=experts.reaches_the_experts,
)
wrong({"target_modules": ["experts"]}, caught_by=experts.reaches_the_experts)
wrong(
    {"target_modules": ATTENTION, "target_parameters": [*STACKED, "mlp.gate.weight"]},
    caught_by=experts.leaves_the_router,
)
wrong(
    {"target_modules": ATTENTION, "modules_to_save": ["experts"]},
    caught_by=experts.is_an_adapter,
)
wrong(
    {"target_modules": ATTENTION, "target_parameters": STACKED, "r": 32, "lora_alpha": 64},
    caught_by=experts.is_an_adapter,
)
wrong(
    {"target_modules": ATTENTION, "target_parameters": STACKED, "lora_alpha": 0},
    caught_by=experts.is_learned_and_served,
)
wrong(
    {"target_modules": ATTENTION, "target_parameters": STACKED, "r": 1, "lora_alpha": 1},
    caught_by=experts.is_learned_and_served,
)
wrong({"steps": 2.0}, caught_by=experts.EXPERTS.form)
wrong({"learning_rate": 1e-2}, caught_by=experts.EXPERTS.form)
wrong({"target_module": SEVEN}, caught_by=experts.EXPERTS.form)
