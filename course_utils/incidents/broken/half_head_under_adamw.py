"""The reward model of lesson 03: a float16 head under AdamW."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer
from course_utils.reproductions.lesson_03.reward_model import reward_trainer


def _build(*, seed: int, dtype: str) -> Run:
    trainer = reward_trainer(dtype=dtype, device="cpu", seed=seed)
    weights = [w for w in trainer.model.parameters() if w.requires_grad]

    def facts() -> dict[str, float]:
        return {"dead weights": float(sum(int((~w.isfinite()).sum()) for w in weights))}

    return of_trainer(trainer, facts)


INCIDENT = Incident(
    name="half_head_under_adamw",
    title="float16 head under AdamW",
    kind="half_precision",
    says="LoRA reward model: loss 1.19e+34, grad_norm nan, then loss 0.0 from there on.",
    cause="The score head is trained in float16, where AdamW's eps of 1e-8 is 0, so the first "
    "update divides by 0.",
    fix="Load with dtype='auto' (bfloat16) or float32 instead of 'half'.",
    threads=("trl#2367", "pytorch#147437"),
    make=Variants(
        _build,
        broken={"dtype": "float16"},
        twin={"dtype": "float32"},
        mended={"dtype": "bfloat16"},
    ),
    shows=lambda run: run.facts()["dead weights"] > 0,
    causes=("nan_shown_as_zero", "nan_weights"),
    place="score",
    lesson="03_reward_nan",
)
