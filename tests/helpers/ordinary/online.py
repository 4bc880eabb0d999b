"""Training on the model's own completions: GRPO, RLOO, Online DPO, from TRL's docs and examples."""

from datasets import Dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import chat_model
from ordinary.post_training import LORA, turn
from ordinary.registry import ordinary
from ordinary.usual import shared

from trl.experimental.gmpo import GMPOConfig, GMPOTrainer  # isort: skip
from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer  # isort: skip

GRPO = "trl docs/source/grpo_trainer.md"
SHARED = {
    "num_generations": 8,
    "per_device_train_batch_size": 32,
    "max_completion_length": 24,
    "learning_rate": 2e-3,
    "max_steps": 12,
}


def asked(num: int = 96, *, conversational: bool = True) -> Dataset:
    """Half of the questions are about animals, half ask for an opinion."""
    rows = [row["prompt"] for row in texts.preferences(num, seed=9)]
    return Dataset.from_list(
        [{"prompt": [turn("user", row)] if conversational else row} for row in rows]
    )


def said(completion) -> str:
    return completion if isinstance(completion, str) else completion[0]["content"]


def friendliness(completions, **_) -> list[float]:
    """One for a friendly word, minus one for an unfriendly one."""
    return [
        float(any(word in said(reply) for word in texts.GOOD))
        - float(any(word in said(reply) for word in texts.BAD))
        for reply in completions
    ]


def length(completions, **_) -> list[float]:
    """The reward of the quickstart: how close to a wanted number of characters."""
    return [-abs(28 - len(said(reply))) / 10 for reply in completions]


def grpo(folder, rewards=friendliness, *, peft=None, **changed):
    return GRPOTrainer(
        model=chat_model(folder),
        reward_funcs=rewards,
        args=GRPOConfig(**shared(folder, **{**SHARED, **changed})),
        train_dataset=asked(),
        processing_class=tok.chat(),
        peft_config=peft,
    )


@ordinary("grpo", source=GRPO, rises="reward")
def grpo_default(folder):
    return grpo(folder)


@ordinary("grpo_two_rewards_fp32", source=GRPO, rises="reward")
def grpo_two_rewards_fp32(folder):
    return grpo(folder, [friendliness, length], bf16=False, reward_weights=[1.0, 0.2])


@ordinary("grpo_beta", source=GRPO, rises="reward")
def grpo_beta(folder):
    return grpo(folder, beta=0.04, num_iterations=2, max_steps=14)


@ordinary("grpo_lora", source=GRPO, rises="reward")
def grpo_lora(folder):
    return grpo(folder, peft=LoraConfig(**LORA, target_modules="all-linear"), learning_rate=1e-2)


@ordinary("dr_grpo", source="trl docs/source/paper_index.md", rises="reward")
def dr_grpo(folder):
    return grpo(folder, loss_type="dr_grpo", scale_rewards="none", bf16=False)


@ordinary("gmpo", source="trl docs/source/gmpo_trainer.md", rises="reward")
def gmpo(folder):
    return GMPOTrainer(
        model=chat_model(folder),
        reward_funcs=friendliness,
        args=GMPOConfig(**shared(folder, **SHARED)),
        train_dataset=asked(),
        processing_class=tok.chat(),
    )


@ordinary("rloo", source="trl docs/source/rloo_trainer.md", rises="reward")
def rloo(folder):
    return RLOOTrainer(
        model=chat_model(folder),
        reward_funcs=friendliness,
        args=RLOOConfig(**shared(folder, **SHARED)),
        train_dataset=asked(),
        processing_class=tok.chat(),
    )


@ordinary("online_dpo", source="trl docs/source/online_dpo_trainer.md", rises="objective/scores")
def online_dpo(folder):
    changed = {"max_new_tokens": 24, "max_length": 64, "learning_rate": 2e-3, "max_steps": 10}
    return OnlineDPOTrainer(
        model=chat_model(folder),
        reward_funcs=friendliness,
        args=OnlineDPOConfig(**shared(folder, per_device_train_batch_size=16, **changed)),
        train_dataset=asked(),
        processing_class=tok.chat(),
    )
