"""GRPO's own loss is 0.0 in every step and its gradient is not."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=10, loss_type="grpo")


LOOK_ALIKE = LookAlike(
    name="grpo_loss_zero",
    title="GRPO loss 0 on policy",
    looks="The loss is 0.0 in every entry.",
    because="On policy every ratio is 1, so the loss is the mean of the advantages, which is "
    "0 in each group; its gradient is not.",
    threads=("trl#3452", "open-r1#239", "trl#2703"),
    make=make,
    holds=learned,
)
