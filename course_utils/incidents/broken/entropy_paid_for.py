"""An entropy bonus that outweighs the reward: the policy learns to say anything."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import mean, values
from course_utils.incidents.verl_runs import verl


def make(variant: Variant, seed: int) -> Run:
    return verl(
        seed, steps=10, learning_rate=2e-4, entropy_coeff=10.0 if variant == "broken" else 0.0
    )


def shows(run: Run) -> bool:
    entropy = values(run, "actor/entropy_loss")
    grows = mean(entropy[-3:]) > 1.1 * mean(entropy[:3])
    return grows and run.facts()["truth"] < 0.3


INCIDENT = Incident(
    name="entropy_paid_for",
    title="entropy bonus outweighs the reward",
    kind="collapse",
    says="The entropy keeps growing, and the score falls.",
    cause="The entropy coefficient is not 0: the loss subtracts the entropy, and being random "
    "pays more than being right.",
    fix="Set the entropy coefficient to 0, as in GRPO's paper.",
    threads=("verl#781", "verl#514", "verl#2738"),
    rebuilt="verl's loop. Its old default 0.001 was enough on large models over hundreds of steps; "
    "here the coefficient is 10, for ten.",
    make=make,
    shows=shows,
    causes=("collapse",),
    place="actor/entropy_loss",
)
