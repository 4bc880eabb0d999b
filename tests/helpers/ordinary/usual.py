"""The settings that all ordinary runs share, and metrics of the examples."""

from pathlib import Path

import numpy as np
from datasets import Dataset
from transformers import TrainingArguments


def shared(folder: Path, **changed) -> dict:
    """What scales an example down to seconds on a CPU; `changed` is what the example sets."""
    return {
        "output_dir": str(folder),
        "max_steps": 16,
        "per_device_train_batch_size": 8,
        "per_device_eval_batch_size": 8,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        **changed,
    }


def arguments(folder: Path, **changed) -> TrainingArguments:
    return TrainingArguments(**shared(folder, **changed))


def split(rows: list[dict], num_held_out: int = 16) -> tuple[Dataset, Dataset]:
    """Rows to train on and rows held out."""
    return Dataset.from_list(rows[num_held_out:]), Dataset.from_list(rows[:num_held_out])


def accuracy(prediction) -> dict[str, float]:
    logits, labels = prediction
    logits = logits[0] if isinstance(logits, tuple) else logits
    right = np.argmax(logits, axis=-1) == labels
    return {"accuracy": float(right[labels != -100].mean())}
