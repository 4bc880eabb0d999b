"""DPO against a reference that is not the model it starts from."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.preferring import dpo_run
from course_utils.incidents.runs import Variants, logged
from course_utils.reproductions.lesson_07.never_stops import base_model


def _build(*, seed: int, base: bool) -> Run:
    return dpo_run(seed=seed, ref_model=base_model(seed=seed) if base else None)


INCIDENT = Incident(
    name="dpo_other_reference",
    title="DPO reference is not the starting checkpoint",
    kind="preference",
    says="DPO: rewards/chosen is far from 0 in the very first step.",
    cause="The reference is the base model, but the policy starts from the fine-tuned one; in "
    "the first step they must agree.",
    fix="Set ref_model=None, or load the checkpoint that the policy starts from.",
    threads=("trl#1236",),
    make=Variants(_build, broken={"base": True}, twin={"base": False}),
    shows=lambda run: abs(logged(run, "rewards/chosen")[0]) > 0.1,
    causes=("wrong_reference",),
    place="ref_model",
)
