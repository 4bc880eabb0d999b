"""Faults inside the real GRPO, DPO and reward trainers of TRL."""

import tempfile

import torch
from torch import nn

from course_utils.zoo import arithmetic, load_reward_model, load_tokenizer

from .models import load, scale_stream
from .planted import Fault

OUTPUT_DIR = tempfile.gettempdir()  # nothing is saved there

# trl takes seconds to import, so it is imported where a trainer is built.


def _settings(**kwargs) -> dict:
    return {
        "output_dir": OUTPUT_DIR,
        "max_steps": 2,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 2,
        "seed": 0,
    } | kwargs


def unchanged(trainer_class: type) -> type:
    return trainer_class


def sft_trainer(model: nn.Module | None = None, *, wrap=unchanged, **kwargs):
    from trl import SFTConfig, SFTTrainer

    pairs = arithmetic.preferences(8, 0).remove_columns("rejected")
    return wrap(SFTTrainer)(
        model=model if model is not None else load("tiny"),
        args=SFTConfig(**_settings(**kwargs)),
        train_dataset=pairs.rename_column("chosen", "completion"),
        processing_class=load_tokenizer("tiny"),
    )


def reward_trainer(
    *, dtype: str = "float32", margin: float | None = None, wrap=unchanged, **kwargs
):
    from peft import LoraConfig
    from trl import RewardConfig, RewardTrainer

    pairs = arithmetic.preferences(8, 0)
    if margin is not None:
        pairs = pairs.add_column("margin", [margin] * len(pairs))
    return wrap(RewardTrainer)(
        model=load_reward_model("tiny", device="cpu", dtype=dtype),
        args=RewardConfig(**_settings(**kwargs)),
        train_dataset=pairs,
        processing_class=load_tokenizer("tiny"),
        peft_config=LoraConfig(task_type="SEQ_CLS", target_modules=["q_proj", "v_proj"]),
    )


def dpo_trainer(model: nn.Module | None = None, *, wrap=unchanged, **kwargs):
    from trl import DPOConfig, DPOTrainer

    model = model if model is not None else load("tiny")
    return wrap(DPOTrainer)(
        model=model,
        args=DPOConfig(**_settings(**kwargs)),
        train_dataset=arithmetic.preferences(8, 0),
        processing_class=load_tokenizer("tiny"),
    )


def reward_odd_letters(completions, **_columns) -> list[float]:
    """Differs between replies, so that there are advantages."""
    return [sum(map(ord, reply[0]["content"])) % 7.0 for reply in completions]


def grpo_trainer(reward=reward_odd_letters, *, wrap=unchanged, **kwargs):
    from trl import GRPOConfig, GRPOTrainer

    settings = {"num_generations": 4, "per_device_train_batch_size": 4, "max_completion_length": 6}
    return wrap(GRPOTrainer)(
        model=load("tiny"),
        reward_funcs=reward,
        args=GRPOConfig(**_settings(**settings | kwargs)),
        train_dataset=arithmetic.prompts(8, 0, level="hard"),
        processing_class=load_tokenizer("tiny"),
    )


def reward_head_in_half():
    return reward_trainer(dtype="float16", optim="adamw_torch", learning_rate=1e-5)


def reward_centering_overflows():
    return reward_trainer(center_rewards_coefficient=1e39)


def reward_margin_is_nan():
    return reward_trainer(margin=float("nan"))


def dpo_beta_overflows():
    """At the first step policy and reference agree: 0 * inf."""
    return dpo_trainer(beta=1e39)


def dpo_on_gemma_in_half():
    model = scale_stream(load("tiny-gemma3"), 1e5)
    trainer = dpo_trainer(model, precompute_ref_log_probs=False)
    autocast = torch.autocast("cpu", dtype=torch.float16)
    trainer.compute_loss_context_manager = lambda: autocast  # fp16=True is ignored on a CPU
    return trainer


def dpo_weights_are_nan():
    model = load("tiny")
    trainer = dpo_trainer(model)
    nn.init.constant_(model.model.norm.weight, float("nan"))
    return trainer


def grpo_kl_overflows():
    """A huge step between two updates on the same samples; trl 1.16 has no clamp."""
    return grpo_trainer(
        beta=0.04,
        num_iterations=2,
        temperature=3.0,  # samples that differ, or there is nothing to learn and no step
        optim="sgd",
        learning_rate=1e4,
        lr_scheduler_type="constant",
    )


def grpo_reference_is_nan():
    trainer = grpo_trainer(beta=0.04)
    nn.init.constant_(trainer.ref_model.model.norm.weight, float("nan"))
    return trainer


FAULTS = [
    Fault(
        reward_head_in_half,
        "AdamW.step",
        "optimizer",
        "base_model.model.score.modules_to_save.default.weight",
        line="self.optimizer.step",
        reached="the weight",
    ),
    Fault(reward_centering_overflows, "mul", line="self.args.center_rewards_coefficient *"),
    Fault(reward_margin_is_nan, "", "already in the input", module="margin"),
    Fault(dpo_beta_overflows, "mul", line="self.beta * delta_score"),
    Fault(
        dpo_on_gemma_in_half,
        "to_copy",
        module="model.layers.0.post_attention_layernorm",
        line="output.type_as(x)",
        became_nan="mul",
    ),
    Fault(dpo_weights_are_nan, "", "already in the weights", module="model.norm.weight"),
    Fault(
        grpo_kl_overflows,
        "exp",
        line="torch.exp(ref_per_token_logps - per_token_logps)",
        became_nan="mul",
    ),
    Fault(grpo_reference_is_nan, "", "already in the input", module="ref_per_token_logps"),
]
