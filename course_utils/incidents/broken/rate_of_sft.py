"""The learning rate of supervised training in GRPO: the policy is gone after a few steps."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo
from course_utils.zoo.arithmetic import correct_sum


def make(variant: Variant, seed: int) -> Run:
    return grpo(seed, correct_sum, steps=8, learning_rate=5e-3 if variant == "broken" else 1e-4)


def shows(run: Run) -> bool:
    return run.facts()["truth"] < 0.1


INCIDENT = Incident(
    name="rate_of_sft",
    title="SFT learning rate in GRPO",
    kind="rate",
    says="After SFT the model solved 57 % of GSM8K, after one epoch of GRPO 2.4 %.",
    cause="The learning rate is far too high for GRPO: each update moves the policy far away "
    "from the one that sampled the replies.",
    fix="Use a fiftieth of the learning rate.",
    threads=("HelloAgents#107", "HelloAgents#108"),
    make=make,
    shows=shows,
    causes=("rate_too_high", "collapse", "rate_unusual"),
    place="learning_rate",
)
