"""The token mean of GRPO's loss is minus the covariance of advantage and length."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=10, loss_type="dr_grpo")


LOOK_ALIKE = LookAlike(
    name="loss_negative",
    title="negative GRPO loss",
    looks="The loss is negative, and moves up while the reward rises.",
    because="Its value only says that the rewarded replies are the longer ones; training follows "
    "its gradient.",
    threads=("trl#3452", "unsloth#2291"),
    make=make,
    holds=learned,
)
