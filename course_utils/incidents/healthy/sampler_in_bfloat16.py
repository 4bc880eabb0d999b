"""A sampler in bfloat16 beside a trainer in float32: the ratio is nearly 1."""

from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.rl_runs import learned


def make(seed: int) -> Run:
    from course_utils.incidents.two_engines import engine_with, run_with

    return run_with(engine_with(dtype="bfloat16"), seed, steps=10)


LOOK_ALIKE = LookAlike(
    name="sampler_in_bfloat16",
    title="sampler in bfloat16, trainer in float32",
    looks="sampling_logp_difference is not 0, although sampler and trainer have the same weights.",
    because="They compute in two formats: the differences are small and have both signs.",
    threads=("verl#2953", "trl#4772"),
    make=make,
    holds=learned,
)
