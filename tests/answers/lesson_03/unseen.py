"""Right and wrong answers of exercise 03.8."""

from course_utils.exercises.lesson_03 import unseen
from course_utils.exercises.lesson_03.unseen import STILL
from tests.answers.forms import mends_of

stood_still = mends_of(unseen.STOOD_STILL)
jumped_far = mends_of(unseen.JUMPED_FAR)

MALFORMED = (
    {"cause": "the optimizer"},
    {"fix": "float32"},
    {"fix": {"dtype": "float32", "seed": 3}},
    {"fix": {"optim": "adafactor"}},
    {"fix": {"per_device_train_batch_size": 0}},
    {"why": "eps"},
)

stood_still.right(
    {"place": STILL.broken[-1], "cause": "D)", "fix": {"dtype": "float32", "optim": "adagrad"}}
)
stood_still.right_in_capitals({"place": "LayerNorm", "cause": "d", "fix": {"learning_rate": 5e-3}})
stood_still.wrong({"place": "weight"}, caught_by=unseen.names_the_place)
stood_still.wrong({"place": ""}, caught_by=unseen.names_the_place)
stood_still.wrong({"place": "lm_head"}, caught_by=unseen.names_the_place)
stood_still.wrong({"fix": {"dtype": "float16"}}, caught_by=unseen.all_finite)
stood_still.wrong({"fix": {}}, caught_by=unseen.part_moves)
stood_still.wrong({"fix": {"optim": "adamw_torch_fused"}}, caught_by=unseen.part_moves)
stood_still.wrong({"fix": {"adam_epsilon": 1e-6}}, caught_by=unseen.part_moves)
stood_still.wrong({"fix": {"learning_rate": 0.3}}, caught_by=unseen.steps_are_sane)
stood_still.wrong({"fix": {"dtype": "float32", "optim": "sgd"}}, caught_by=unseen.squares_are_kept)
stood_still.misdiagnoses(
    elsewhere={"place": "q_proj"},
    malformed=MALFORMED,
    place=unseen.ASKED.diagnosis[0].observe,
    cause=unseen.ASKED.diagnosis[-1].observe,
)
jumped_far.right({"place": "lm_hea", "fix": {"dtype": "bfloat16", "learning_rate": 1e-2}})
jumped_far.right_in_capitals(
    {
        "place": "lm_head.weight",
        "cause": "C",
        "fix": {"dtype": "float32", "optim": "adamw_torch"},
    }
)
jumped_far.wrong({"place": "base_model"}, caught_by=unseen.names_the_place)
jumped_far.wrong({"place": "default.weight"}, caught_by=unseen.names_the_place)
jumped_far.wrong({"place": "score"}, caught_by=unseen.names_the_place)
jumped_far.wrong({"fix": {}}, caught_by=unseen.all_finite)
jumped_far.wrong({"fix": {"optim": "adamw_torch"}}, caught_by=unseen.all_finite)
jumped_far.wrong({"fix": {"adam_epsilon": 1e-4}}, caught_by=unseen.all_finite)
jumped_far.wrong({"fix": {"learning_rate": 1e-7}}, caught_by=unseen.all_finite)
jumped_far.wrong({"fix": {"dtype": "bfloat16"}}, caught_by=unseen.part_moves)
jumped_far.wrong({"fix": {"optim": "adamw_torch_fused"}}, caught_by=unseen.part_moves)
jumped_far.wrong(
    {"fix": {"dtype": "float32", "learning_rate": 0.1}}, caught_by=unseen.steps_are_sane
)
jumped_far.wrong(
    {"fix": {"dtype": "bfloat16", "optim": "adamw_torch_fused"}}, caught_by=unseen.part_moves
)
jumped_far.wrong({"fix": {"dtype": "float64", "optim": "sgd"}}, caught_by=unseen.squares_are_kept)
jumped_far.misdiagnoses(
    elsewhere={"place": "lora_A"},
    malformed=MALFORMED,
    place=unseen.ASKED.diagnosis[0].observe,
    cause=unseen.ASKED.diagnosis[-1].observe,
)
