"""A verifier that returns 0 for every reply without `</think>`, and a policy that never thinks."""

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, said, values
from course_utils.zoo.arithmetic import correct_sum, is_right

TAG = "</think>"


def after_thinking(completions, answer, **_columns) -> list[float]:
    """Right or not, of what stands behind the tag."""
    replies = zip(said(completions), answer, strict=True)
    return [float(TAG in r and is_right(r.split(TAG)[-1], a)) for r, a in replies]


def make(variant: Variant, seed: int) -> Run:
    return grpo(seed, after_thinking if variant == "broken" else correct_sum, steps=4)


def shows(run: Run) -> bool:
    return set(values(run, "reward")) == {0.0} and set(values(run, "grad_norm")) == {0.0}


INCIDENT = Incident(
    name="verifier_wants_a_tag",
    title="verifier needs a tag that is never written",
    kind="no_signal",
    says="The rollouts read fine, but the reward is 0.0 in every step.",
    cause="The verifier grades only the text after `</think>`, and this model never writes it, "
    "so right replies earn 0 as well.",
    fix="Grade the whole reply where there is no such tag.",
    threads=("slime#2219", "miles#330"),
    make=make,
    shows=shows,
    causes=("no_signal",),
    place="reward",
    lesson="10_reward_up",
)
