"""No ratio is ever clipped where each rollout is learned from once."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=10)


LOOK_ALIKE = LookAlike(
    name="clip_ratio_zero",
    title="nothing clipped on policy",
    looks="clip_ratio is 0 in every entry, as if clipping were broken.",
    because="With one update per rollout the policy is the one that sampled: every ratio is "
    "exactly 1.",
    threads=("trl#3120", "trl#2608"),
    make=make,
    holds=learned,
)
