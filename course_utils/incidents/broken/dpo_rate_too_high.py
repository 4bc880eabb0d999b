"""DPO at the learning rate of a LoRA run, with every weight trained."""

from course_utils.incidents.declare import Incident
from course_utils.incidents.preferring import dpo_run
from course_utils.incidents.runs import Variants

INCIDENT = Incident(
    name="dpo_rate_too_high",
    title="DPO learning rate far too high",
    kind="preference",
    says="DPO: the loss is 1.15, 2.11, 0.0076, 3.95; the model is worse afterwards.",
    cause="The learning rate is far too high for DPO, which needs about a tenth of SFT's; both "
    "replies lose probability.",
    fix="Use a hundredth of the learning rate.",
    threads=("trl#1236",),
    make=Variants(dpo_run, broken={"learning_rate": 3e-3}, twin={"learning_rate": 1e-5}),
    shows=lambda run: run.facts()["right"] < 0.5,
    causes=("margin_by_pushing_down", "rate_too_high", "rate_unusual", "diverged"),
    place="learning_rate",
)
