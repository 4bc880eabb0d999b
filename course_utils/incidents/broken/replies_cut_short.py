"""A completion limit too short for a full answer: every attempt is cut and earns nothing."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean, values
from course_utils.zoo.arithmetic import correct_sum


def make(variant: Variant, seed: int) -> Run:
    return grpo(seed, correct_sum, steps=4, max_completion_length=2 if variant == "broken" else 5)


def shows(run: Run) -> bool:
    cut = mean(values(run, "completions/clipped_ratio"))
    return cut > 0.3 and mean(values(run, "reward")) < 0.2


INCIDENT = Incident(
    name="replies_cut_short",
    title="completion limit too short for an answer",
    kind="no_signal",
    says="clipped_ratio is high, mean_length is the limit, loss and grad_norm are 0.",
    cause="max_completion_length ends the replies before their answer, and an unfinished reply "
    "earns 0 like all the others.",
    fix="Set a limit that an answer fits into.",
    threads=("trl#5697",),
    make=make,
    shows=shows,
    causes=("rewards_cut", "replies_cut", "no_signal"),
    place="max_completion_length",
    lesson="10_reward_up",
)
