"""Exercise 05.3: a configuration that is checked by training with it."""

from dataclasses import dataclass

import torch

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.settings import OverSeeds, both, only, over_seeds, plain
from course_utils.reproductions.lesson_05.gemma_dpo import Outcome, dpo_trainer, train_and_judge

SEEDS = (0, 1, 2)
FLAGS = ("fp16", "bf16")


@dataclass(frozen=True)
class Trained:
    """What the run logged, and the formats in which its matrix products were computed."""

    outcome: Outcome
    formats: frozenset[str]


def train_with(fix: dict, seed: int) -> Trained:
    """Train the reported run with the student's changes, three optimizer steps."""
    trainer, formats = dpo_trainer(**plain(fix), seed=seed), set()
    for name, module in trainer.model.named_modules():
        if name.endswith("mlp.down_proj") and isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda _m, _i, out: formats.add(out.dtype))
    outcome = train_and_judge(trainer)
    return Trained(outcome, frozenset(str(dtype).removeprefix("torch.") for dtype in formats))


def names_a_format(fix: dict) -> str | None:
    """The flags are True or False, at most one is on, and dtype is one that weights have."""
    for flag in FLAGS:
        if fix.get(flag, False) not in (True, False, None):
            return f"{flag} is {fix[flag]!r}; it is switched on with True and off with False"
    if fix.get("fp16", True) and fix.get("bf16"):
        return "fp16 and bf16 are both on (the report has fp16=True); the Trainer takes one of them"
    name = plain(fix).get("dtype", "float32")
    dtype = getattr(torch, name, None) if isinstance(name, str) else None
    if isinstance(dtype, torch.dtype) and dtype.is_floating_point and dtype.itemsize > 1:
        return None
    return f'dtype is {fix["dtype"]!r}; a torch dtype or its name, such as "float32"'


@over_seeds
def every_step_finite(trained: Trained) -> str | None:
    outcome = trained.outcome
    if not outcome.num_dead_steps and not outcome.num_dead:
        return None
    steps = f"{outcome.num_dead_steps} of {len(outcome.losses)} steps"
    return f"{steps} logged a loss, grad_norm or reward that is not finite"


@over_seeds
def products_in_16_bits(trained: Trained) -> str | None:
    if trained.formats <= {"float16", "bfloat16"}:
        return None
    return f"the MLP computes in {', '.join(sorted(trained.formats))}"


has_the_settings_asked = both(only("fp16", "bf16", "dtype"), names_a_format)

FIX = Exercise(
    id="05.3",
    name="FIX",
    title="Fix the configuration",
    minutes=4,
    difficulty="two settings",
    points=3,
    reads="fix",
    expects=(dict,),
    hints=(
        "Which settings change the range of what the forward pass computes?",
        "float32 can hold it, at twice the memory and a fraction of the speed. Which 16-bit format "
        "has the range of float32?",
        "The Trainer has a flag for each of the two 16-bit formats, and takes one at a time. "
        "Which one is on in the report?",
    ),
    criteria=(
        Criterion(
            "Loss, grad_norm and rewards are finite at every step, for three seeds.",
            every_step_finite,
            why="the overflow is in the forward pass: an activation does not fit its format",
            next="for each setting, ask which format it gives the activations",
        ),
        Criterion(
            "Matrix products are still computed in 16 bits.",
            products_in_16_bits,
            why="wider formats cost twice the memory or more, and the tensor cores",
            next="there is a second 16-bit format",
        ),
    ),
    answer={"fp16": False, "bf16": True},
    form=has_the_settings_asked,
    run=lambda fix: OverSeeds(lambda seed: train_with(fix, seed), SEEDS),
    time_limit_s=120.0,
)
