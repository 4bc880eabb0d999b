"""The entropy falls because sums have one right answer."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import learned
from course_utils.incidents.verl_runs import verl


def make(seed: int) -> Run:
    return verl(seed, steps=10, num_prompts=4, ppo_mini_batch_size=32)


LOOK_ALIKE = LookAlike(
    name="entropy_falls",
    title="entropy falls while the score rises",
    looks="The entropy falls by half within ten steps.",
    because="The policy becomes sure of what is right: the score rises at the same time.",
    threads=("verl#5953",),
    make=make,
    holds=learned,
)
