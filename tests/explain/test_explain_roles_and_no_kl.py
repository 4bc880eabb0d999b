"""A role that no one trains, a policy that nothing holds, an adapter that is frozen behind it."""

import json

import pytest
from explain_shapes import rows

from course_utils.explain import explain

NOTHING_COUNTED = "[DEBUG] total_supervised_tokens: 0"
TRAINS = 'roles_to_train: ["assistant"]'
TURNS = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "agent", "content": "Hello"}]}'


def causes(text: list[str], **columns):
    return explain("\n".join([*text, *map(json.dumps, rows(9, **columns))]) + "\n").causes


def test_a_role_that_nothing_maps_is_named_with_the_one_that_is_trained():
    one = causes([TRAINS, TURNS, NOTHING_COUNTED], loss=0.0, grad_norm=float("nan"))[0]
    assert one.key == "labels_masked"
    assert '"agent"' in one.says and '"assistant"' in one.says and "rename it" in one.fix


@pytest.mark.parametrize(
    "text",
    [
        [TRAINS, "roles:", '  assistant: ["agent"]', TURNS, NOTHING_COUNTED],
        ['roles_to_train: ["assistant", "agent"]', TURNS, NOTHING_COUNTED],
        [TRAINS, TURNS.replace("agent", "gpt"), NOTHING_COUNTED],
        [TRAINS, TURNS, NOTHING_COUNTED.replace("0", "41_233")],
    ],
)
def test_a_role_that_is_mapped_or_counted_is_not_blamed(text):
    found = causes(text, loss=0.0, grad_norm=float("nan"))
    assert not any("role" in one.says for one in found)


PEOPLE = "In 71 % of the comparisons our annotators prefer the base model. Why?"
HACKED = {
    "reward": lambda n: 0.4 + n,
    "kl": lambda n: 0.01 + 0.08 * n,
    "response_length": lambda n: 200 + 40 * n,
}


@pytest.mark.parametrize(
    "told", [PEOPLE, "Against the start it has 61 % wins at step 20, then 22 % at step 180."]
)
def test_without_a_kl_a_reward_that_rises_and_replies_that_nobody_likes_are_one_cause(told):
    one = causes([told, "  --init_kl_coef 0.0 \\"], **HACKED)[0]
    assert one.key == "proxy_rises_alone"
    assert "KL coefficient of 0" in one.says and "KL coefficient above 0" in one.fix


@pytest.mark.parametrize(
    ("told", "kl"),
    [
        ("The reward rises. Is that too good to be true?", HACKED["kl"]),
        (PEOPLE.replace("the base model", "the new model"), HACKED["kl"]),
        (PEOPLE, lambda n: 0.010 + 0.001 * n),
        ("61 % wins at step 20, 58 % at step 180", HACKED["kl"]),
    ],
)
def test_without_people_who_like_the_start_better_or_without_a_way_off_nothing_is_said(told, kl):
    found = causes([told, "  --init_kl_coef 0 \\"], **HACKED | {"kl": kl})
    assert not any("KL coefficient of 0" in one.says for one in found)


STANDS = {"loss": 0.6931, "grad_norm": 0.0, "rewards/chosen": 0.0, "rewards/rejected": 0.0}
WRAP, PREPARE = (
    "model = get_peft_model(model, LoraConfig(r=8))",
    "model = prepare_model_for_kbit_training(model)",
)
TRAIN = "trainer = DPOTrainer(model, args=args, train_dataset=pairs)"


def test_what_prepares_behind_the_adapter_freezes_it():
    one = causes([WRAP, PREPARE, TRAIN], **STANDS)[0]
    assert "prepared for k-bit training behind get_peft_model" in one.says


@pytest.mark.parametrize(
    "code",
    [[PREPARE, WRAP, TRAIN], [WRAP, PREPARE, "p.requires_grad_(True)", TRAIN], [WRAP, TRAIN]],
)
def test_the_usual_order_is_not_blamed(code):
    assert not any("behind get_peft_model" in one.says for one in causes(code, **STANDS))
