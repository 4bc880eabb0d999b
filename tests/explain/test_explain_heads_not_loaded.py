"""Heads of reward models that are drawn where they are used, and those that are trained anew."""

import pytest

from tests.helpers.explained import first, keys

PPO = [
    f"step {n} reward=0.0{n}, kl=0.00{n}, policy_loss=-0.00{n}, response_length=31{n}"
    for n in range(1, 8)
]
TRAIN = [f"{{'loss': {0.66 - 0.03 * n:.4f}, 'learning_rate': 9e-06}}" for n in range(6)]
WARNED = (
    "Some weights of {who} were not initialized from the model checkpoint at {path} and are newly "
    "initialized: ['{name}']"
)
KEYS = ["model.embed_tokens.weight", "model.norm.weight", "reward_head.weight"]
SAVES = 'torch.save(model.reward_head.state_dict(), out / "reward_head.pt")'
LOADS = "rm = AutoModelForSequenceClassification.from_pretrained(out, num_labels=1)"


def warned(who: str = "RewardModel", path: str = "./rm-7b", name: str = "score.weight"):
    return WARNED.format(who=who, path=path, name=name)


@pytest.mark.parametrize(
    "lines",
    [
        [warned(), *KEYS, *PPO],
        [*TRAIN, warned("LlamaForSequenceClassification", "out"), *KEYS, "accuracy 0.51"],
    ],
)
def test_a_head_under_another_key_is_named(lines):
    one = first(*lines)
    assert one.key == "head_is_new" and "reward_head.weight" in one.says
    assert "reward_head" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [warned("LlamaForSequenceClassification", "./rm-7b"), *PPO],
        [
            "--reward_model_path ./ranker",
            warned("Qwen2ForSequenceClassification", "./ranker"),
            *PPO,
        ],
    ],
)
def test_a_head_that_is_drawn_where_it_only_scores_is_named(lines):
    one = first(*lines)
    assert one.key == "head_is_new" and "random direction" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [*TRAIN, SAVES, LOADS, warned("Qwen2ForSequenceClassification", "out")],
        [*TRAIN, SAVES, LOADS, "print(hits)   # 0.497"],
    ],
)
def test_a_head_that_was_saved_apart_is_named(lines):
    one = first(*lines)
    assert one.key == "head_is_new" and "saved apart" in one.says and "copy" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [warned("LlamaForSequenceClassification", "./sft"), *TRAIN],
        [warned("CriticModel", "./rm-7b", "value_head.weight"), *PPO],
        [warned("LlamaForTokenClassification", "./sft-7b"), *PPO],
        [warned(), *TRAIN, *KEYS[:2]],
        [
            *TRAIN,
            SAVES,
            LOADS,
            "rm.score.load_state_dict(torch.load('reward_head.pt'))",
            "acc 0.50",
        ],
        [*TRAIN, SAVES, "rm = RewardModel(out)", "acc 0.79"],
    ],
)
def test_a_head_to_train_a_critic_and_a_head_put_back_are_not_accused(lines):
    assert "head_is_new" not in keys(*lines)
