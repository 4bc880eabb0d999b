"""Runs that are compared bit for bit, watched and bare: trainers, batches, settings.

Each run is a function that builds a Trainer. At its second step one gradient is nan, so that a
replay happens; the scaler of float16 skips that step, and the run goes on with finite weights.
"""

import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from course_utils.zoo import training
from course_utils.zoo.mixed_precision import Float16OnCpu

from .models import load
from .trainers import dpo_trainer, grpo_trainer, reward_trainer, sft_trainer

NUM_STEPS = 3


class TwoLayers(nn.Module):
    """A language model of two layers that any loop or Trainer can train."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(32, 8), nn.LayerNorm(8)
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 32)
        self.drop = nn.Dropout(0.1)

    def forward(self, input_ids, labels=None, **_kwargs):
        hidden = self.drop(self.norm(self.body(self.embed(input_ids))).relu())
        logits = self.head(hidden)
        if labels is None:
            return {"logits": logits}
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits}


class Spoilt(Float16OnCpu):
    """A mixin: float16 with its scaler on a CPU, and a nan gradient at the second step."""

    calls = 0

    def compute_loss(self, model, inputs, *args, **kwargs):
        self.calls += 1
        result = super().compute_loss(model, inputs, *args, **kwargs)
        loss = result[0] if isinstance(result, tuple) else result
        if self.state.global_step == 1:
            weight = next(p for p in self.model.parameters() if p.requires_grad)
            loss = loss + (weight.flatten()[0] * 0).sqrt()
        return (loss, *result[1:]) if isinstance(result, tuple) else loss


def spoil(trainer_class: type) -> type:
    return type(f"Spoilt{trainer_class.__name__}", (Spoilt, trainer_class), {})


def pops(inputs: dict) -> dict:
    return {"input_ids": inputs.pop("input_ids"), "labels": inputs.pop("labels")}


def mutates(inputs: dict) -> dict:
    given = {name: value.clone() for name, value in inputs.items()}
    inputs["input_ids"].zero_()
    inputs["labels"].fill_(-100)
    return given


def deletes(inputs: dict) -> dict:
    given = dict(inputs)
    inputs.clear()
    return given


def moves(inputs: dict) -> dict:
    """As `.to("cuda")` in place would; "meta" is the device that every machine has."""
    given = dict(inputs)
    for name, value in given.items():
        inputs[name] = value.to("meta")
    return given


def takes_from(batch_of) -> type:
    """A Trainer whose compute_loss treats its batch badly."""

    class Careless(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return model(**batch_of(inputs))["loss"]

    return spoil(Careless)


def trainer(trainer_class: type = Trainer, model: nn.Module | None = None, **settings) -> Trainer:
    kwargs = {k: settings.pop(k) for k in ("compute_loss_func",) if k in settings}
    ids = torch.randint(1, 32, (8, 6), generator=torch.Generator().manual_seed(0))
    config = training.quiet_config() | {
        "output_dir": "unused",
        "max_steps": NUM_STEPS,
        "per_device_train_batch_size": 2,
        "use_cpu": True,
        "fp16": True,
        "remove_unused_columns": False,
    }
    rows = [{"input_ids": row, "labels": row} for row in ids]
    cls = trainer_class if issubclass(trainer_class, Spoilt) else spoil(trainer_class)
    model = model if model is not None else TwoLayers()
    return cls(model, TrainingArguments(**config | settings), train_dataset=rows, **kwargs)


def mean_by_hand(outputs, labels, num_items_in_batch=None):
    logits = outputs["logits"].flatten(0, 1)
    total = nn.functional.cross_entropy(logits.float(), labels.flatten(), reduction="sum")
    return total / num_items_in_batch


def compiled() -> Trainer:
    return trainer(torch_compile=True, torch_compile_backend="eager")


def accumulating_language_model() -> Trainer:
    return trainer(model=load("tiny"), gradient_accumulation_steps=2, per_device_train_batch_size=1)


def checkpointed_language_model() -> Trainer:
    return trainer(model=load("tiny"), gradient_checkpointing=True)


RUNS = {
    "Trainer": trainer,
    "batch popped": lambda: trainer(takes_from(pops)),
    "batch mutated": lambda: trainer(takes_from(mutates)),
    "batch deleted": lambda: trainer(takes_from(deletes)),
    "batch moved": lambda: trainer(takes_from(moves)),
    "label smoothing": lambda: trainer(model=load("tiny"), label_smoothing_factor=0.1),
    "compute_loss_func": lambda: trainer(compute_loss_func=mean_by_hand),
    "torch.compile": compiled,
    "checkpointing": checkpointed_language_model,
    "accumulation": accumulating_language_model,
    "SFT": lambda: sft_trainer(wrap=spoil, fp16=True, max_steps=NUM_STEPS),
    "DPO": lambda: dpo_trainer(wrap=spoil, fp16=True, max_steps=NUM_STEPS),
    "Reward": lambda: reward_trainer(wrap=spoil, fp16=True, max_steps=NUM_STEPS),
    "GRPO": lambda: grpo_trainer(wrap=spoil, fp16=True, max_steps=NUM_STEPS),
}
