"""Two parts of a reward on two scales: being short pays more than being right."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, said
from course_utils.zoo.arithmetic import correct_sum


def brevity_reward(completions, **_columns) -> list[float]:
    """Minus the number of characters."""
    return [-float(len(reply)) for reply in said(completions)]


def make(variant: Variant, seed: int) -> Run:
    how = "normalize_then_sum" if variant == "mended" else "sum_then_normalize"
    return grpo(
        seed,
        [correct_sum, brevity_reward],
        steps=20,
        learning_rate=1e-4,
        reward_weights=[1.0, 0.05 if variant == "twin" else 0.5],
        multi_objective_aggregation=how,
    )


def shows(run: Run) -> bool:
    return run.facts()["truth"] < 0.3


INCIDENT = Incident(
    name="short_beats_right",
    title="brevity outweighs correctness",
    kind="reward_hacking",
    says="The total reward rises while its accuracy part falls.",
    cause="The parts are summed on their own scales: a right reply of three characters earns 1.0 "
    "and loses 1.5, so an empty one is worth more.",
    fix="Normalise each part within its group before summing "
    "(multi_objective_aggregation='normalize_then_sum').",
    threads=("open-r1#255",),
    make=make,
    shows=shows,
    causes=("parts_apart",),
    place="rewards/correct_sum/mean",
    lesson="10_reward_up",
)
