"""One GRPO step each of six runs whose logs look alike. Judges nothing."""

from collections.abc import Callable

from course_utils import zoo

Log = dict[str, float | None]
OneStep = Callable[..., Log]  # a check and settings of GRPOConfig to the entry that the step logs


def exact(reply: str, gold: str) -> float:
    return float(reply == gold)


def logs(one_step: OneStep) -> dict[str, Log]:
    """The first log entry of each run, by its number."""
    return {
        "1": one_step(exact, loss_type="grpo"),
        "2": one_step(lambda reply, gold: int(gold) % 2),
        "3": one_step(lambda reply, gold: reply == gold + " "),
        "4": one_step(lambda reply, gold: 0.1),
        "5": one_step(exact, dataset=zoo.arithmetic.prompts(64, 0, level="easy"), temperature=0.05),
        "6": one_step(lambda reply, gold: None),
    }
