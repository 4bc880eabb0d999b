"""A policy that gets good has groups with nothing left to learn."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=16)


LOOK_ALIKE = LookAlike(
    name="half_of_the_groups_dead",
    title="half of the groups without signal",
    looks="frac_reward_zero_std climbs to a half and above, and reward_std shrinks.",
    because="Prompts that every reply solves carry no signal any more; the others do.",
    threads=("trl#3857",),
    make=make,
    holds=learned,
)
