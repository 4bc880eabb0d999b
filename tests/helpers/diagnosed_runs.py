"""Small Trainers, healthy and broken, for the tests of `diagnose`."""

from datasets import Dataset
from transformers import set_seed
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOTrainer,
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)

from course_utils import zoo
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.reproductions.tiny_grpo import grpo_trainer
from course_utils.zoo import training

ON_CPU = dict(bf16=False, use_cpu=True, max_steps=3, logging_steps=1)


def sft(model=None, rows=None, tokenizer=None, **settings) -> SFTTrainer:
    set_seed(0)
    return SFTTrainer(
        model=model or zoo.load_policy("tiny", device="cpu"),
        args=SFTConfig(**training.quiet_config(), **ON_CPU | settings),
        processing_class=tokenizer or zoo.load_tokenizer("tiny"),
        train_dataset=never_stops.chats(24) if rows is None else rows,
    )


def dpo(ref_model=None, **settings) -> DPOTrainer:
    set_seed(0)
    return DPOTrainer(
        model=zoo.load_policy("tiny", device="cpu"),
        ref_model=ref_model,
        args=DPOConfig(**training.quiet_config(), **ON_CPU | settings),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.preferences(16, 0, rejected="guess"),
    )


def reward(**settings) -> RewardTrainer:
    set_seed(0)
    return RewardTrainer(
        model=zoo.load_reward_model("tiny", device="cpu"),
        args=RewardConfig(**training.quiet_config(), **ON_CPU | settings),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.preferences(16, 0),
    )


def grpo(reward=zoo.arithmetic.correct_sum, **settings) -> GRPOTrainer:
    known = dict(per_device_train_batch_size=16, activation_checkpointing=True)  # as TRL has it
    sums = zoo.arithmetic.prompts(32, 0, level="hard")
    return grpo_trainer(reward, seed=42, dataset=sums, **ON_CPU | known | settings)


TRAINERS = {"SFT": sft, "DPO": dpo, "reward": reward, "GRPO": grpo}


def without_ends() -> Dataset:
    """Prompts and replies as ids that nobody gave an end."""
    tokenizer = zoo.load_tokenizer("tiny")
    rows = []
    for chat in never_stops.chats(24):
        prompt = tokenizer.apply_chat_template(
            chat["prompt"], add_generation_prompt=True, tokenize=False
        )
        asked = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        said = tokenizer(chat["completion"][0]["content"], add_special_tokens=False)["input_ids"]
        mask = [0] * len(asked) + [1] * len(said)
        rows.append({"input_ids": asked + said, "completion_mask": mask})
    return Dataset.from_list(rows)
