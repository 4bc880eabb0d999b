"""A policy with bfloat16 weights at RL's learning rate: the updates round to nothing."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, values, zoo_policy
from course_utils.zoo.arithmetic import correct_sum


def make(variant: Variant, seed: int) -> Run:
    dtype = "bfloat16" if variant == "broken" else "float32"
    return grpo(
        seed, correct_sum, steps=3, make_model=lambda: zoo_policy(dtype), learning_rate=1e-6
    )


def shows(run: Run) -> bool:
    return run.facts()["moved"] < 0.1 and max(values(run, "grad_norm")) > 0.5


INCIDENT = Incident(
    name="weights_in_bfloat16",
    title="updates lost to bfloat16 rounding in RL",
    kind="rounding",
    says="At a learning rate of 1e-6 the loss is flat however long it runs, with a healthy "
    "grad_norm.",
    cause="The weights are stored in bfloat16, whose neighbouring numbers differ by about 1/256 "
    "of their size; an update of 1e-6 is less than half of that gap for nearly every weight and "
    "is rounded away.",
    fix="Load the policy in float32, and let autocast compute in bfloat16.",
    threads=("torchtune#2254", "pytorch#120376"),
    make=make,
    shows=shows,
    causes=("nothing_moves",),
    place="bfloat16",
    lesson="01_floats",
)
