"""The learning rate climbs for most of a short log."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(
        seed,
        correct_sum,
        steps=16,
        warmup_steps=10,
        lr_scheduler_type="constant_with_warmup",
    )


LOOK_ALIKE = LookAlike(
    name="warming_up",
    title="learning rate still climbing",
    looks="Nothing happens in the first half: the reward stays where it was.",
    because="The learning rate is still climbing, and its first steps are a tenth of the value "
    "that was set.",
    threads=("Search-R1#88",),
    make=make,
    holds=learned,
)
