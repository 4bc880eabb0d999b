"""TRL's first example paid for distance from the wanted length instead of closeness to it."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, mean, said, values

WANTED = 3


def make(variant: Variant, seed: int) -> Run:
    sign = 1.0 if variant == "broken" else -1.0

    def reward_len(completions, **_columns) -> list[float]:
        return [sign * abs(WANTED - len(reply)) for reply in said(completions)]

    return grpo(seed, reward_len, steps=12, learning_rate=1e-4)


def shows(run: Run) -> bool:
    lengths = values(run, "completions/mean_length")
    return mean(lengths[-3:]) < 2.0 and run.facts()["truth"] < 0.2


INCIDENT = Incident(
    name="sign_of_the_length",
    title="length reward with the wrong sign",
    kind="reward_hacking",
    says="The reward rises in every step, but the model no longer says anything.",
    cause="The reward is the distance from the wanted length, without a minus sign: the policy "
    "learns to be as far from it as it can, with empty replies.",
    fix="Put a minus sign in front of the distance.",
    threads=("trl#2771", "trl#2714"),
    make=make,
    shows=shows,
    place="reward_len",
    lesson="10_reward_up",
)
