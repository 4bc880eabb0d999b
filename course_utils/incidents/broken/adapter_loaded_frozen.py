"""Training continues from a saved adapter, but PeftModel.from_pretrained freezes it."""

import tempfile

from peft import LoraConfig, PeftModel, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import LORA, Variants, moves, of_trainer
from course_utils.reproductions.lesson_07.never_stops import base_model, chats, sft_trainer


def _build(*, seed: int, is_trainable: bool) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        get_peft_model(base_model(seed=seed), LoraConfig(**LORA)).save_pretrained(folder)
        loaded = PeftModel.from_pretrained(base_model(seed=seed), folder, is_trainable=is_trainable)
    trainer = sft_trainer(
        loaded,
        zoo.load_tokenizer("tiny"),
        dataset=chats(192, seed),
        gradient_checkpointing=True,  # TRL's default
        learning_rate=5e-3,
        max_steps=12,
        logging_steps=1,
        seed=seed,
    )
    return of_trainer(trainer, moves(loaded, "lora"))


INCIDENT = Incident(
    name="adapter_loaded_frozen",
    title="adapter loaded frozen",
    kind="adapter",
    says="Training continues from a LoRA checkpoint, but grad_norm is 0.0 and nothing changes.",
    cause="PeftModel.from_pretrained loads an adapter for inference, with every weight frozen; "
    "checkpointing makes the inputs require a gradient, so no error is raised.",
    fix="Load it with PeftModel.from_pretrained(..., is_trainable=True).",
    threads=("peft#282", "trl#6700", "trl#1311"),
    make=Variants(_build, broken={"is_trainable": False}, twin={"is_trainable": True}),
    shows=lambda run: run.facts()["moved"] == 0,
    causes=("no_gradient", "no_grad_fn", "policy_is_reference"),
    place="is_trainable",
    lesson="06_grad_fn",
)
