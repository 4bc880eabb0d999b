"""TRL's GRPOTrainer on the tiny policy and sums: what all its runs share, and each may change."""

from collections.abc import Callable

from torch import nn

from course_utils import zoo
from course_utils.zoo import training

# Four sums of eight replies a step; three digits and the end fit into five tokens.
SETTINGS = dict(
    learning_rate=1e-4,
    lr_scheduler_type="constant",
    per_device_train_batch_size=32,
    num_generations=8,
    max_completion_length=5,
    logging_steps=1,
    bf16=False,
    use_cpu=True,
    activation_checkpointing=False,
)


def grpo_trainer(
    reward_funcs: Callable | list[Callable],
    *,
    seed: int = 0,
    make_model: Callable[[], nn.Module] = lambda: zoo.load_policy("tiny", device="cpu"),
    tokenizer: str = "tiny",
    dataset: object | None = None,
    num_prompts: int = 256,
    level: str = "hard",
    trainer_class: Callable | None = None,
    **settings: object,
):
    """A GRPOTrainer that has not started.

    Args:
        seed: draws the sums, too.
        make_model: builds the policy, after the seed is set.
        dataset: None takes `num_prompts` sums of `level`.
        trainer_class: what builds the trainer instead of TRL's class.
        settings: fields of GRPOConfig, and arguments of the trainer that it does not have.
    """
    from transformers import set_seed  # takes seconds, as TRL does
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    arguments = {k: v for k, v in settings.items() if not hasattr(GRPOConfig, k)}
    config = {k: v for k, v in settings.items() if k not in arguments}
    if dataset is None:
        dataset = zoo.arithmetic.prompts(num_prompts, seed, level=level)
    return (trainer_class or GRPOTrainer)(
        model=make_model(),
        args=GRPOConfig(**training.quiet_config() | SETTINGS | config, seed=seed),
        reward_funcs=reward_funcs,
        train_dataset=dataset,
        processing_class=zoo.load_tokenizer(tokenizer),
        **arguments,
    )
