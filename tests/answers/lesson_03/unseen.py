"""Right and wrong answers of exercise 03.8."""

from course_utils.exercises.lesson_03.unseen import (
    _STILL,
    STILL,
    UNSEEN,
    all_finite,
    is_a_diagnosis,
    part_moves,
    squares_are_kept,
    steps_are_sane,
)
from tests.answers import answers_of

WRONG_FORMS = [
    ({"cause": "the optimizer"}, is_a_diagnosis),
    ({"fix": "float32"}, is_a_diagnosis),
    ({"fix": {"dtype": "float32", "seed": 3}}, is_a_diagnosis),
    ({"fix": {"optim": "adafactor"}}, is_a_diagnosis),
    ({"why": "eps"}, is_a_diagnosis),
]


def _add(exercise, right: tuple[dict, ...], wrong: list) -> None:
    add_right, add_wrong = answers_of(exercise)
    place, cause, *_ = (criterion.observe for criterion in exercise.criteria)
    named = {"place": place, "cause": cause}
    for answer in right[1:]:
        add_right(answer)
    for change, look in [*wrong, *WRONG_FORMS]:
        add_wrong(exercise.answer | change, caught_by=named.get(look, look))


_add(
    _STILL,
    (
        {"place": "ln_tuning", "cause": "d", "fix": {"dtype": "float32"}},
        {"place": STILL.broken[-1], "cause": "D)", "fix": {"dtype": "float32", "optim": "adagrad"}},
        {"place": "LayerNorm", "cause": "d", "fix": {"learning_rate": 5e-3}},
    ),
    [
        ({"place": "q_proj"}, "place"),
        ({"place": "weight"}, "place"),
        ({"place": ""}, "place"),
        ({"place": "lm_head"}, "place"),
        ({"cause": "f"}, "cause"),
        ({"cause": "c"}, "cause"),
        ({"fix": {"dtype": "float16"}}, all_finite),
        ({"fix": {}}, part_moves),
        ({"fix": {"optim": "adamw_torch_fused"}}, part_moves),
        ({"fix": {"adam_epsilon": 1e-6}}, part_moves),
        ({"fix": {"learning_rate": 0.3}}, steps_are_sane),
        ({"fix": {"dtype": "float32", "optim": "sgd"}}, squares_are_kept),
    ],
)


_add(
    UNSEEN,
    (
        {"place": "lm_head", "cause": "c", "fix": {"dtype": "float32"}},
        {
            "place": "lm_hea",
            "cause": "c",
            "fix": {"dtype": "bfloat16", "learning_rate": 1e-2},
        },
        {
            "place": "lm_head.weight",
            "cause": "C",
            "fix": {"dtype": "float32", "optim": "adamw_torch"},
        },
    ),
    [
        ({"place": "lora_A"}, "place"),
        ({"place": "base_model"}, "place"),
        ({"place": "default.weight"}, "place"),
        ({"place": "score"}, "place"),
        ({"cause": "a"}, "cause"),
        ({"cause": "e"}, "cause"),
        ({"fix": {}}, all_finite),
        ({"fix": {"optim": "adamw_torch"}}, all_finite),
        ({"fix": {"adam_epsilon": 1e-4}}, all_finite),
        ({"fix": {"learning_rate": 1e-7}}, all_finite),
        ({"fix": {"dtype": "bfloat16"}}, part_moves),
        ({"fix": {"optim": "adamw_torch_fused"}}, part_moves),
        ({"fix": {"dtype": "float32", "learning_rate": 0.1}}, steps_are_sane),
        ({"fix": {"dtype": "bfloat16", "optim": "adamw_torch_fused"}}, part_moves),
        ({"fix": {"dtype": "float64", "optim": "sgd"}}, squares_are_kept),
    ],
)
