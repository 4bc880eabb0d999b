"""Every reply of every group is right, so nothing is left to compare."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean, values
from course_utils.zoo.arithmetic import correct_sum


def make(variant: Variant, seed: int) -> Run:
    return grpo(seed, correct_sum, steps=4, level="easy" if variant == "broken" else "hard")


def shows(run: Run) -> bool:
    return mean(values(run, "frac_reward_zero_std")) > 0.6 and mean(values(run, "reward")) > 0.9


INCIDENT = Incident(
    name="sums_too_easy",
    title="prompts too easy",
    kind="no_signal",
    says="GRPO trains for hours; the reward is 1.0 from the first step, and loss and grad_norm "
    "are 0.0.",
    cause="The policy already solves all of its prompts: every reply of a group earns the same, "
    "and the advantage of each is 0.",
    fix="Use prompts that the policy solves only sometimes.",
    threads=("trl#3857", "ms-swift#4547"),
    make=make,
    shows=shows,
    causes=("no_signal",),
    place="frac_reward_zero_std",
    lesson="10_reward_up",
)
