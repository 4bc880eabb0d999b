"""Norms far above the limit are scaled down before the step."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import learned
from course_utils.incidents.verl_runs import verl


def make(seed: int) -> Run:
    return verl(seed, steps=10, num_prompts=4, ppo_mini_batch_size=16, grad_clip=0.2)


LOOK_ALIKE = LookAlike(
    name="grad_norm_clipped",
    title="gradient norm spikes before clipping",
    looks="grad_norm spikes to fifty times the limit.",
    because="The norm is logged before it is clipped; every step taken has a norm of at most "
    "the limit.",
    threads=("verl#2282", "LlamaFactory#3996"),
    make=make,
    holds=learned,
)
