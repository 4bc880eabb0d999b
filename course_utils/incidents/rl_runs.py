"""The tiny runs of TRL's GRPOTrainer that incidents vary, and the questions after any RL run."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.incidents.declare import Run
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.tiny_grpo import grpo_trainer

NUM_JUDGED = 64
SAMPLED_AT_START = 0.46  # what `sampled_truth` gives for the zoo's policy


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
    facts: Callable[[nn.Module], dict[str, float]] = nothing,
    **settings: object,
) -> Run:
    """A GRPOTrainer that has not started.

    Args:
        rewards: TRL's `reward_funcs`.
        facts: more facts than `facts_of`, of the trained model.
        settings: what `tiny_grpo.grpo_trainer` takes.
    """
    trainer = grpo_trainer(rewards, seed=seed, max_steps=steps, **settings)
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
