"""Each rollout is learned from twice: the second time ratios differ from 1."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=12, num_iterations=2)


LOOK_ALIKE = LookAlike(
    name="two_updates_a_rollout",
    title="clipping with two updates per rollout",
    looks="clip_ratio is not 0, and the reward stands still in every second entry.",
    because="The second update of a rollout uses replies of the policy before the first update: "
    "that is what clipping is for.",
    threads=("trl#2608", "trl#3120"),
    make=make,
    holds=learned,
)
