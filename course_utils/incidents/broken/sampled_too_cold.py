"""At a temperature near 0 all replies of a group are identical."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean, values
from course_utils.zoo.arithmetic import correct_sum


def make(variant: Variant, seed: int) -> Run:
    return grpo(seed, correct_sum, steps=4, temperature=0.01 if variant == "broken" else 1.0)


def shows(run: Run) -> bool:
    rewards, dead = values(run, "reward"), values(run, "frac_reward_zero_std")
    return mean(dead) > 0.8 and 0.1 < mean(rewards) < 0.95


INCIDENT = Incident(
    name="sampled_too_cold",
    title="temperature near zero",
    kind="no_signal",
    says="Loss 0 and grad_norm 0, although some answers are right and some are wrong.",
    cause="Sampling is almost greedy, so the replies to one prompt are copies of each other and "
    "no group has both right and wrong ones.",
    fix="Sample at temperature 1.",
    threads=("ms-swift#4512", "ms-swift#4547"),
    make=make,
    shows=shows,
    causes=("no_signal", "entropy_gone"),
    place="temperature",
    lesson="10_reward_up",
)
