"""Gemma 3 under float16 autocast: the output of a post-norm is too large for the format."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, moves, of_trainer
from course_utils.reproductions.lesson_05.gemma_dpo import dpo_trainer


def _build(*, seed: int, **formats: bool) -> Run:
    trainer = dpo_trainer(device="cpu", seed=seed, **formats)
    return of_trainer(trainer, moves(trainer.model))


def _shows(run: Run) -> bool:
    never = all(value != value for value in logged(run, "rewards/chosen"))
    return never and max(logged(run)) == 0 and run.facts()["moved"] == 0


INCIDENT = Incident(
    name="activations_past_65504",
    title="Gemma activations past the float16 range",
    kind="half_precision",
    says="DPO of Gemma 3 with fp16=True logs loss 0, reward nan; float32 trains.",
    cause="The output of Gemma's post-norms passes 65504, the largest number of float16, in the "
    "forward pass; no loss scale can fix that.",
    fix="Train in bfloat16 (bf16=True), or rescale the residual stream.",
    threads=("trl#3236", "transformers#36822"),
    make=Variants(
        _build,
        broken={"fp16": True},
        twin={"fp16": False},
        mended={"fp16": False, "bf16": True},
    ),
    shows=_shows,
    rebuilt="The tiny model's stream is stretched to the size that the large ones have, its "
    "function unchanged; fp16=True, which a CPU ignores, is obeyed.",
    causes=("nan_shown_as_zero", "fp16_overflow"),
    place="post_attention_layernorm",
    lesson="05_gemma_fp16",
)
