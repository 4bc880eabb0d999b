"""One group of eight a step: the reward jumps from 0 to 1 and back."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import grpo, learned
from course_utils.zoo.arithmetic import correct_sum


def make(seed: int) -> Run:
    return grpo(seed, correct_sum, steps=24, per_device_train_batch_size=8)


LOOK_ALIKE = LookAlike(
    name="reward_noisy",
    title="noisy reward with one prompt per step",
    looks="The reward jumps between 0 and 1 from step to step and shows no trend.",
    because="Each step asks a single question; how hard it is changes the reward more than "
    "learning does.",
    threads=("trl#2884",),
    make=make,
    holds=learned,
)
