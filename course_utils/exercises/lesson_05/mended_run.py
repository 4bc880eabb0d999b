"""Trains an unseen run of exercise 05.8 with a student's fix, beside its float32 twin."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor
from transformers import TrainerCallback

from course_utils.checks.broken_script import of_the_runs
from course_utils.checks.declare import TODO
from course_utils.exercises.lesson_05.products import Products
from course_utils.reproductions.lesson_05.unseen_05 import Patient

EXACT, CLOSE = 1e-3, 1e-2  # of the loss: float16 products cost 3e-4 at first, 2e-3 after updates
GRADIENT_CLOSE = 0.1  # of its norm: float16 costs up to 0.025, a gradient of another loss 0.34


@dataclass(frozen=True)
class Trained:
    """What one run with the student's fix did, beside its float32 twin."""

    losses: list[float] = field(default_factory=list)
    twin: tuple[float, ...] = ()
    gradient_off: float = 0.0  # distance of the first gradient from the twin's, by the twin's norm
    changed: str | None = None  # a setting that the fix changed
    share_half: float = 0.0  # of all matrix products, those in float16
    has_bfloat16: bool = False  # whether anything was computed in it
    error: str | None = None  # what the fix or the training raised


class FirstGradient(TrainerCallback):
    """Keeps what the optimizer is given in the first step: one vector of all adapters."""

    def __init__(self) -> None:
        self.gradient: Tensor | None = None

    def on_pre_optimizer_step(self, args, state, control, *, model, **kwargs) -> None:
        if self.gradient is None:
            trained = [p for name, p in model.named_parameters() if "lora_" in name]
            flat = [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in trained]
            self.gradient = torch.cat(flat).detach().clone()


@cache
def run_of_twin(patient: Patient, seed: int) -> tuple[tuple[float, ...], Tensor]:
    """The losses in float32, and the first gradient."""
    trainer, first = patient.trainer(fp16=False, seed=seed), FirstGradient()
    trainer.add_callback(first)
    trainer.train()
    return tuple(_logged(trainer)), first.gradient


def train(patient: Patient, fix: Callable, seed: int) -> Trained:
    """Train with `fix`; what it or the training raises is part of the outcome."""
    trainer = patient.trainer(seed=seed)
    trainer.args.logging_nan_inf_filter = False
    held, changed, products = _settings(trainer), None, Products()
    first = FirstGradient()
    try:
        if fix(trainer) is TODO:
            return Trained(error="the fix, which is still TODO")
        now = _settings(trainer)
        changed = next((key for key in held if now.get(key) != held[key]), None)
        _count_in_the_first_step(trainer, products)
        trainer.add_callback(first)
        trainer.train()
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return Trained(changed=changed, error=f"{type(error).__name__}: {lines[0][:120]}")
    twin, wanted = run_of_twin(patient, seed)
    off = _distance(first.gradient, wanted)
    has_bfloat16 = torch.bfloat16 in products.formats
    share = products.share(torch.float16)
    return Trained(_logged(trainer), twin, off, changed, share, has_bfloat16)


def _distance(got: Tensor | None, wanted: Tensor) -> float:
    if got is None or got.shape != wanted.shape:
        return float("inf")
    return ((got - wanted).norm() / wanted.norm()).item()


def _count_in_the_first_step(trainer, products: Products) -> None:
    compute_loss = trainer.compute_loss

    def counted(*args, **kwargs):
        with nullcontext() if products.count else products:
            return compute_loss(*args, **kwargs)

    trainer.compute_loss = counted


def _logged(trainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def _settings(trainer) -> dict[str, object]:
    """What the report fixes: arguments, data, callbacks, scaler, and which tensors are trained."""
    names = [name for name, p in trainer.model.named_parameters() if p.requires_grad]
    return {
        **{f"args.{key}": value for key, value in trainer.args.to_dict().items()},
        "train_dataset": id(trainer.train_dataset),
        "the callbacks": [type(c).__name__ for c in trainer.callback_handler.callbacks],
        "the mixed precision": trainer.accelerator.native_amp,
        "the gradient scaler": id(trainer.accelerator.scaler),
        "the set of trained weights": names,
    }


@of_the_runs
def nothing_else_is_changed(run: Trained) -> str | None:
    return f"the fix changes {run.changed} of the trainer" if run.changed else None


@of_the_runs
def follows_float32(run: Trained) -> str | None:
    if run.error:
        return f"the run ends with {run.error}"
    for step, (loss, want) in enumerate(zip(run.losses, run.twin, strict=True), 1):
        if not abs(loss - want) <= (EXACT if step == 1 else CLOSE) * want:
            return f"step {step} logs the loss {loss:.4g}, its float32 twin {want:.4g}"
    return None


@of_the_runs
def learns_as_float32(run: Trained) -> str | None:
    if run.error:
        return f"no gradient to compare: the run ends with {run.error}"
    if run.gradient_off <= GRADIENT_CLOSE:
        return None
    if not math.isfinite(run.gradient_off):
        return "in step 1 the gradient of the adapters is missing or not finite"
    off = f"off by {run.gradient_off:.0%} of its norm in the float32 twin"
    return f"in step 1 the gradient of the adapters is {off}"


@of_the_runs
def runs_without_bfloat16(run: Trained) -> str | None:
    return "something is computed in bfloat16" if run.has_bfloat16 else None


@of_the_runs
def products_stay_in_half(run: Trained) -> str | None:
    if run.share_half >= 0.85:  # all but one MLP of the four
        return None
    if run.error:
        return f"no product to count: the run ends with {run.error}"
    return f"{run.share_half:.0%} of the matrix products are computed in float16"
