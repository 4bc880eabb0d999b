"""A reward function for another task answers None, and its mean is nan."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def code_reward(completions, **_columns) -> list[None]:
    """These prompts hold no code."""
    return [None for _ in completions]


def make(seed: int) -> Run:
    return grpo(seed, [correct_sum, code_reward], steps=10)


LOOK_ALIKE = LookAlike(
    name="reward_of_other_tasks",
    title="reward function of another task is nan",
    looks="rewards/code_reward/mean is nan in every entry.",
    because="The function returns None for prompts of other tasks, and TRL leaves them out of "
    "the sum.",
    threads=("open-r1#704",),
    make=make,
    holds=learned,
)
