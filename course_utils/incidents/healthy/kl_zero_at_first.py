"""Policy and reference are the same weights in the first step."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=10, beta=0.01)


LOOK_ALIKE = LookAlike(
    name="kl_zero_at_first",
    title="KL 0 in the first step",
    looks="kl is 0.0 in the first entry, and grows from there without ever falling back.",
    because="The policy starts as its own reference, and learning means leaving it.",
    threads=("trl#2703", "trl#3452"),
    make=make,
    holds=learned,
)
