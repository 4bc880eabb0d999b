"""A constant reward whose group mean has a rounding error, which Adam turns into full steps.

The float32 mean of eight times 0.35 is 0.34999996, so every advantage is 3e-4 instead of 0.
"""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, values
from course_utils.zoo.arithmetic import correct_sum


def format_reward(completions, **_columns) -> list[float]:
    return [0.35 for _ in completions]


def exact_reward(completions, **_columns) -> list[float]:
    return [0.5 for _ in completions]


def make(variant: Variant, seed: int) -> Run:
    rewards = {"broken": format_reward, "twin": correct_sum, "mended": exact_reward}
    return grpo(seed, rewards[variant], steps=3)


def shows(run: Run) -> bool:
    """Weights move although no group has two rewards that differ."""
    return max(values(run, "reward_std")) < 1e-6 and run.facts()["moved"] > 0.5


INCIDENT = Incident(
    name="constant_that_trains",
    title="constant reward that still trains",
    kind="tiny_std",
    says="The reward is the same for every reply, but the model still changes.",
    cause="The mean of a group is off by a rounding error; divided by a std of almost 0 it "
    "becomes an advantage, and Adam takes a full step for any gradient, however small.",
    fix="Use an amount whose sum is exact, such as 0.5, or drop groups whose rewards are all "
    "equal.",
    threads=("NeMo-RL#4161",),
    make=make,
    shows=shows,
    causes=("tiny_std", "no_signal"),
    place="reward_std",
    lesson="10_reward_up",
)
