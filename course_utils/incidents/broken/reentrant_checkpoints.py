"""A LoRA reward model under reentrant checkpoints: its head learns and no adapter does."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer
from course_utils.reproductions.lesson_06.frozen_inputs import reward_run


def _build(*, seed: int, hook: bool = False, **changes: object) -> Run:
    trainer = reward_run(device="cpu", seed=seed, enable_input_require_grads=hook, **changes)
    lora_b = [w for name, w in trainer.model.named_parameters() if "lora_B" in name]

    def facts() -> dict[str, float]:
        return {"adapters moved": sum(bool(w.any()) for w in lora_b) / len(lora_b)}

    return of_trainer(trainer, facts)


INCIDENT = Incident(
    name="reentrant_checkpoints",
    title="reentrant checkpointing with frozen embeddings",
    kind="no_grad",
    says="The loss falls and grad_norm is not 0, but the adapter does not change.",
    cause="The output of the frozen embeddings requires no gradient, and reentrant checkpointing "
    "cuts the graph there; only the head after the blocks is trained.",
    fix='Set gradient_checkpointing_kwargs={"use_reentrant": False}.',
    threads=("trl#3150", "trl#3089", "open-unlearning#178"),
    make=Variants(
        _build,
        broken={},
        twin={"hook": True},
        mended={"gradient_checkpointing_kwargs": {"use_reentrant": False}},
    ),
    shows=lambda run: run.facts()["adapters moved"] == 0,
    rebuilt="Today's hook on the embeddings, which both libraries add, is taken off.",
    causes=("no_gradient",),
    place="use_reentrant",
    lesson="06_grad_fn",
)
