"""Exercise 05.3: a configuration that is checked by training with it."""

from dataclasses import dataclass

import torch

from course_utils.errors import BadRequest
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.reproductions.gemma_dpo import Outcome, dpo_trainer, train_and_judge

OF_THE_MODEL = ("stretch", "prepare", "model")


@dataclass(frozen=True)
class Trained:
    """What the run logged, and the formats in which its matrix products were computed."""

    outcome: Outcome
    formats: frozenset[str]


def train_with(fix: dict) -> Trained:
    """Train the reported run with the student's changes, three optimizer steps."""
    if not fix.keys().isdisjoint(OF_THE_MODEL):
        raise BadRequest(
            f"{', '.join(fix.keys() & set(OF_THE_MODEL))} changes the model",
            why="this exercise asks for a configuration with which the given model trains",
            fix="use fields of DPOConfig, or dtype, or lora_alpha",
        )
    trainer, formats = dpo_trainer(**fix), set()
    for name, module in trainer.model.named_modules():
        if name.endswith("mlp.down_proj") and isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda _m, _i, out: formats.add(out.dtype))
    outcome = train_and_judge(trainer)
    return Trained(outcome, frozenset(str(dtype).removeprefix("torch.") for dtype in formats))


def every_step_finite(trained) -> str | None:
    outcome = trained.outcome
    if not outcome.num_dead_steps and not outcome.num_dead:
        return None
    steps = f"{outcome.num_dead_steps} of {len(outcome.losses)} steps"
    return f"{steps} logged a loss, grad_norm or reward that is not finite"


def adapters_move(trained) -> str | None:
    outcome = trained.outcome
    if outcome.num_moved == outcome.num_trained:
        return None
    return f"{outcome.num_moved} of {outcome.num_trained} trained tensors changed in three steps"


def products_in_16_bits(trained) -> str | None:
    if "float32" not in trained.formats:
        return None
    return f"the MLP computes in {', '.join(sorted(trained.formats))}"


FIX = Exercise(
    id="05.3",
    name="FIX",
    title="Mend the configuration",
    minutes=4,
    difficulty="two settings",
    points=3,
    reads="fix",
    expects=(dict,),
    hints=(
        "Which settings change the range of what the forward pass computes?",
        "float32 holds it at twice the memory and a fraction of the speed. Which 16-bit format "
        "reaches as far as float32?",
        "One of the two flags off, the other one on: the Trainer takes either, never both.",
    ),
    criteria=(
        Criterion(
            "Loss, grad_norm and rewards are finite at every step.",
            every_step_finite,
            why="the overflow is in the forward pass; what acts after it comes too late",
            next="ask of each setting: does it change the format of an activation?",
        ),
        Criterion(
            "The adapters are trained.",
            adapters_move,
            why="a run that logs healthy numbers and learns nothing is not mended",
            next="leave alone what has to do with learning, and change formats only",
        ),
        Criterion(
            "Matrix products are still computed in 16 bits.",
            products_in_16_bits,
            why="float32 costs twice the memory, and the tensor cores",
            next="there is a second 16-bit format",
        ),
    ),
    right=({"fp16": False, "bf16": True}, {"fp16": False, "dtype": "bfloat16"}),
    wrong=(
        Wrong({}, caught_by=every_step_finite),
        Wrong({"lora_alpha": 64}, caught_by=every_step_finite),
        Wrong({"max_grad_norm": 0.1}, caught_by=every_step_finite),
        Wrong({"gradient_checkpointing": True}, caught_by=every_step_finite),
        Wrong({"fp16": False, "dtype": "float16"}, caught_by=every_step_finite),
        Wrong({"fp16": False, "bf16": True, "lora_alpha": 0}, caught_by=adapters_move),
        Wrong({"fp16": False}, caught_by=products_in_16_bits),
    ),
    run=train_with,
    time_limit_s=120.0,
)
