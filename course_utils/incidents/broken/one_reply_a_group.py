"""Groups of a single reply: its standard deviation is nan, and so is everything after it."""

import math

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import values
from course_utils.incidents.verl_runs import verl


def make(variant: Variant, seed: int) -> Run:
    n = 1 if variant == "broken" else 2
    return verl(seed, steps=3, n=n, num_prompts=64 // n)


def shows(run: Run) -> bool:
    return math.isnan(values(run, "actor/grad_norm")[0]) and run.facts()["truth"] == 0.0


INCIDENT = Incident(
    name="one_reply_a_group",
    title="std of a single reply",
    kind="tiny_std",
    says="RuntimeError: probability tensor contains either inf, nan or element < 0, after one step "
    "with num_generations=1.",
    cause="The std of one sample is nan, so every advantage is nan, and one update with them "
    "makes all weights nan.",
    fix="Sample at least two replies per prompt.",
    threads=("R1-V#69", "VLM-R1#71"),
    rebuilt="TRL refuses one reply today; the same division in verl's loop, whose sampler returns "
    "token 0 where torch.multinomial raises.",
    make=make,
    shows=shows,
    causes=("std_of_one", "nan_gradient", "nan_weights", "nan_from_the_start"),
    place="n",
    lesson="10_reward_up",
)
