"""Runs in which nothing is wrong, although many hold infs, NaNs or very large numbers."""

import torch
from torch import nn

from .models import INF, load, make_batch, qwen_step
from .planted import Step, on_values, step
from .trainers import dpo_trainer, grpo_trainer, reward_odd_letters, reward_trainer


def causal_mask_of_inf() -> Step:
    model = load("tiny")
    model.set_attn_implementation("eager")

    def loss_of(batch):
        num_tokens = batch["input_ids"].shape[1]
        mask = torch.full((1, 1, num_tokens, num_tokens), -INF).triu(1)
        return model(batch["input_ids"], attention_mask=mask, labels=batch["labels"]).loss

    return qwen_step(model, loss_of)


def left_padded_qwen() -> Step:
    return qwen_step(load("tiny"))


def left_padded_gemma() -> Step:
    model = load("tiny-gemma3")
    return step(model, lambda batch: model(**batch).loss, make_batch("tiny-gemma3"))


def checkpointed_qwen() -> Step:
    model = load("tiny")
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return qwen_step(model)


def qwen_in_bfloat16_autocast() -> Step:
    model = load("tiny")

    def loss_of(batch):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(**batch).loss

    return qwen_step(model, loss_of)


def forbidden_tokens() -> Step:
    def loss_of(logits):
        allowed = logits.masked_fill(torch.tensor([False, True, False]), -INF)
        return -allowed.log_softmax(-1)[0]

    return on_values(loss_of, [1.0, 2.0, 3.0])


def top_k_filter() -> Step:
    def loss_of(logits):
        threshold = logits.topk(2).values[-1]
        kept = torch.where(logits < threshold, torch.tensor(-INF), logits)
        return -kept.log_softmax(-1).amax()

    return on_values(loss_of, [1.0, 2.0, 3.0])


def running_minimum_from_inf() -> Step:
    def loss_of(x):
        smallest = torch.full((), INF)
        for value in x:
            smallest = torch.minimum(smallest, value)
        return smallest

    return on_values(loss_of, [3.0, 1.0, 2.0])


def mask_made_by_log_of_zero() -> Step:
    return on_values(lambda x: (x + torch.tensor([0.0, 1.0]).log()).logsumexp(-1), [1.0, 2.0])


def nan_in_a_metric_only() -> Step:
    def loss_of(x):
        x.detach()[:1].std()  # of one value
        torch.tensor([float("nan"), 1.0]).nanmean()
        return x.sum()

    return on_values(loss_of, [1.0, 2.0])


def exploding_but_finite() -> Step:
    """The squares in the gradient norm overflow; no gradient does."""
    return on_values(lambda x: (x.sigmoid() * 1e30).sum(), [1.0, 2.0])


def saturated_sigmoid_in_half() -> Step:
    return on_values(lambda x: x.sigmoid().sum(), [60000.0, -60000.0], dtype=torch.float16)


def k3_clamped_before_exp() -> Step:
    def loss_of(gap):
        gap = gap.clamp(-20, 20)
        return (gap.exp() - gap - 1).mean()

    return on_values(loss_of, [100.0, 0.1])


def memory_written_after_empty() -> Step:
    def loss_of(x):
        buffer = torch.empty(1000)
        buffer[:2] = x
        return buffer[:2].sum()

    return on_values(loss_of, [1.0, 2.0])


def dropout_and_batch_norm() -> Step:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    return step(model, lambda x: model(x).pow(2).mean(), torch.randn(8, 4))


def scaler_overflows_and_backs_off() -> Step:
    """The scaled gradient of a half weight leaves float16: that is what a scaler is for."""
    model = nn.Linear(4, 1)

    def loss_of(x):
        with torch.autocast("cpu", dtype=torch.float16):
            return model(x).float().sum() * 50

    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    return step(model, loss_of, torch.ones(1, 4), scaler=scaler)


def fused_adamw_in_half() -> Step:
    model = nn.Linear(4, 1, bias=False).half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    batch = torch.full((1, 4), 1e-4).half()
    return Step(model, lambda x: model(x).sum(), batch, optimizer, traces_optimizer=True)


def reward_trainer_with_accumulation():
    return reward_trainer(gradient_accumulation_steps=2)


def dpo_trainer_with_checkpointing():
    return dpo_trainer(gradient_checkpointing=True)


def grpo_trainer_with_kl():
    return grpo_trainer(beta=0.04, num_iterations=2)


def grpo_trainer_without_some_rewards():
    """trl takes NaN for "no reward" and leaves the sample out."""

    def reward(completions, **_columns):
        return [float("nan"), *reward_odd_letters(completions[1:])]

    return grpo_trainer(reward)


STEPS = [
    causal_mask_of_inf,
    left_padded_qwen,
    left_padded_gemma,
    checkpointed_qwen,
    qwen_in_bfloat16_autocast,
    forbidden_tokens,
    top_k_filter,
    running_minimum_from_inf,
    mask_made_by_log_of_zero,
    nan_in_a_metric_only,
    exploding_but_finite,
    saturated_sigmoid_in_half,
    k3_clamped_before_exp,
    memory_written_after_empty,
    dropout_and_batch_norm,
    scaler_overflows_and_backs_off,
    fused_adamw_in_half,
]
TRAINERS = [
    reward_trainer_with_accumulation,
    dpo_trainer_with_checkpointing,
    grpo_trainer_with_kl,
    grpo_trainer_without_some_rewards,
]
