"""The models train under the real trainers, and GRPO improves the hard sums (25 s)."""

import pytest
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RewardConfig, RewardTrainer

from course_utils import zoo


def settings(folder, steps, **more):
    return {
        "output_dir": str(folder),
        "max_steps": steps,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "logging_steps": 1,
        "per_device_train_batch_size": 8,
        **more,
    }


def logged(trainer, key):
    if not trainer.state.log_history:
        trainer.train()
    return [entry[key] for entry in trainer.state.log_history if key in entry]


def grpo(name, config):
    return GRPOTrainer(
        model=zoo.load_policy(name, device="cpu"),
        processing_class=zoo.load_tokenizer(name),
        reward_funcs=zoo.arithmetic.correct_sum,
        train_dataset=zoo.arithmetic.prompts(500, 0, level="hard"),
        args=GRPOConfig(**config, num_generations=8, max_completion_length=8),
    )


def test_grpo_unlearns_giving_up_in_twenty_steps(tmp_path):
    config = settings(
        tmp_path,
        20,
        per_device_train_batch_size=64,
        learning_rate=1e-4,
        lr_scheduler_type="constant",
    )
    trainer = grpo("tiny", config)
    rewards, lengths = logged(trainer, "reward"), logged(trainer, "completions/mean_length")
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.1
    assert sum(lengths[:5]) / 5 < 3.1 and sum(lengths[-5:]) / 5 > 3.3


def test_gemma_trains_under_grpo(tmp_path):
    trainer = grpo("tiny-gemma3", settings(tmp_path, 2, per_device_train_batch_size=32))
    norms = logged(trainer, "grad_norm")
    assert len(norms) == 2 and all(0 < norm < 100 for norm in norms)


@pytest.mark.parametrize("name", ["tiny-qwen2", "tiny-gemma3"])
@pytest.mark.parametrize(
    ("load", "trainer", "config"),
    [
        (zoo.load_policy, DPOTrainer, DPOConfig),
        (zoo.load_reward_model, RewardTrainer, RewardConfig),
    ],
)
def test_preference_pairs_train_as_they_are(name, load, trainer, config, tmp_path):
    run = trainer(
        model=load(name, device="cpu"),
        processing_class=zoo.load_tokenizer(name),
        train_dataset=zoo.arithmetic.preferences(32, 0),
        args=config(**settings(tmp_path, 2)),
    )
    losses = logged(run, "loss")
    assert len(losses) == 2 and all(0.3 < loss < 1.2 for loss in losses)
