"""The tiny runs of TRL's GRPOTrainer that incidents vary, and the questions after any RL run.

What is the same everywhere stands here: the policy of the zoo, the settings, the facts.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.incidents.declare import Run
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.zoo import training

NUM_PROMPTS, NUM_JUDGED = 256, 64
SAMPLED_AT_START = 0.46  # what `sampled_truth` gives for the zoo's policy
# Four sums of eight replies a step; three digits and the end fit into five tokens.
TRL_SETTINGS = dict(
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


def nothing(_trained: object) -> dict[str, float]:
    """No more facts."""
    return {}


def zoo_policy(dtype: str = "float32") -> nn.Module:
    """The tiny Qwen2."""
    return zoo.load_policy("tiny", device="cpu", dtype=dtype)


def grpo(
    seed: int,
    rewards: Callable | list[Callable],
    *,
    steps: int,
    make_model: Callable[[], nn.Module] = zoo_policy,
    trainer_class: Callable | None = None,
    prompts: object | None = None,
    level: str = "hard",
    facts: Callable[[nn.Module], dict[str, float]] = nothing,
    **settings: object,
) -> Run:
    """A GRPOTrainer that has not started.

    Args:
        rewards: TRL's `reward_funcs`.
        make_model: builds the policy, after the seed is set.
        trainer_class: what builds the trainer instead of TRL's class.
        prompts: a data set; None takes sums of `level`.
        facts: more facts than `facts_of`, of the trained model.
        settings: fields of GRPOConfig, and arguments of the trainer that it does not have.
    """
    from transformers import set_seed  # takes seconds, as TRL does
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    arguments = {k: v for k, v in settings.items() if not hasattr(GRPOConfig, k)}
    config = TRL_SETTINGS | {k: v for k, v in settings.items() if k not in arguments}
    if prompts is None:
        prompts = zoo.arithmetic.prompts(NUM_PROMPTS, seed, level=level)
    trainer = (trainer_class or GRPOTrainer)(
        model=make_model(),
        args=GRPOConfig(**training.quiet_config(), **config, seed=seed, max_steps=steps),
        reward_funcs=rewards,
        train_dataset=prompts,
        processing_class=zoo.load_tokenizer("tiny"),
        **arguments,
    )
    run = Run(model=trainer.model, start=lambda: None, trainer=trainer)

    def start() -> None:
        trainer.train()
        run.log.extend(trainer.state.log_history)

    run.start, run.facts = start, facts_of(run.model, facts)
    return run


def facts_of(
    model: nn.Module, more: Callable[[nn.Module], dict[str, float]] = nothing
) -> Callable[[], dict[str, float]]:
    """Ask later what became of a model: share of held-out sums right, share of weights moved."""
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    def facts() -> dict[str, float]:
        return {"truth": truth_of(model), "moved": share_moved(model, before)} | more(model)

    return facts


def truth_of(model: nn.Module) -> float:
    """Share of held-out hard sums that the policy gets right, answering greedily."""
    sums = zoo.arithmetic.prompts(NUM_JUDGED, 0, level="hard", split="test")
    return zoo.share_right(model, zoo.load_tokenizer("tiny"), sums)


def sampled_truth(model: nn.Module) -> float:
    """Share of held-out hard sums right when sampled at temperature 1, always the same noise.

    The zoo's policy stays silent at two in five of them; what GRPO teaches first is to speak.
    """
    return VerlGrpo(device="cpu", response_length=5).evaluate(model)


def learned(run: Run) -> bool:
    """Whether the policy samples more right sums than the zoo's, and lost none of its greed."""
    return sampled_truth(run.model) > SAMPLED_AT_START + 0.05 and run.facts()["truth"] > 0.6


def share_moved(model: nn.Module, before: dict[str, Tensor]) -> float:
    """Share of the weights that are not what they were."""
    moved = [weight != before[name] for name, weight in model.named_parameters()]
    return sum(m.sum().item() for m in moved) / sum(m.numel() for m in moved)


def values(run: Run, field: str) -> list[float]:
    """What the log says under this name, in order."""
    return [entry[field] for entry in run.log if field in entry]


def mean(numbers: Iterable[float]) -> float:
    """The mean, in double precision; nan of nothing."""
    return torch.tensor(list(numbers), dtype=torch.float64).mean().item()


def said(completions: list[list[dict[str, str]]]) -> list[str]:
    """The replies as text, from what TRL gives to a reward function."""
    return [completion[-1]["content"].strip() for completion in completions]


def truth(completions, answer, **_columns) -> list[float]:
    """Right or not, for a log; with a weight of 0 it trains nothing."""
    return zoo.arithmetic.correct_sum(completions, answer)
