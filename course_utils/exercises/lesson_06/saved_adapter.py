"""Exercise 06.9: a saved LoRA adapter that is to be trained further."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    SITUATIONS,
    Situation,
    backward_fails,
    in_every_situation,
    names_with_gradient,
)
from course_utils.reproductions.lesson_06.small_models import seeded


@dataclass(frozen=True)
class _Loaded:
    """What the student's function made of a base and a folder, and how the folder was."""

    model: object
    saved: nn.Module
    folder_before: dict[str, bytes]
    folder_after: dict[str, bytes]


@contextmanager
def _saved_adapter(at: Situation) -> Iterator[tuple[str, nn.Module]]:
    """The folder of a trained adapter on the body's layers, and the model that was saved."""
    layers = [f"body.{2 * number}" for number in range(at.depth)]
    config = LoraConfig(r=2 + at.seed, target_modules=layers)
    adapter = seeded(lambda: get_peft_model(at.model(), config), at.seed)
    with torch.no_grad():
        for name, weight in adapter.named_parameters():
            if "lora_B" in name:  # as a training run would have left it: not 0
                weight.copy_(seeded(lambda like=weight: torch.randn_like(like), at.seed))
    with tempfile.TemporaryDirectory() as folder:
        adapter.save_pretrained(folder)
        yield folder, adapter


def _files(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _load(load_adapter, at: Situation) -> _Loaded:
    with _saved_adapter(at) as (folder, saved):
        before = _files(folder)
        model = load_adapter(at.model(), folder)
        return _Loaded(model, saved, before, _files(folder))


def _loss(model: nn.Module, at: Situation) -> torch.Tensor:
    return model(at.x()).square().sum()


def returns_a_model(load_adapter) -> str | None:
    model = _load(load_adapter, SITUATIONS[0]).model
    if isinstance(model, nn.Module):
        return None
    return f"it returns a {type(model).__name__}, where the model is needed"


@in_every_situation
def runs_backward(load_adapter, at: Situation) -> str | None:
    return backward_fails(_loss(_load(load_adapter, at).model, at))


@in_every_situation
def goes_on_from_what_was_saved(load_adapter, at: Situation) -> str | None:
    loaded = _load(load_adapter, at)
    difference = (loaded.model(at.x()) - loaded.saved(at.x())).abs().max().item()
    if difference < 1e-5:
        return None
    return f"its outputs differ from the saved model's by up to {difference:.2g}"


@in_every_situation
def base_stays_frozen(load_adapter, at: Situation) -> str | None:
    model = _load(load_adapter, at).model
    thawed = [n for n, p in model.named_parameters() if p.requires_grad and "lora_" not in n]
    return f"parameters of the base that require grad: {len(thawed)}" if thawed else None


@in_every_situation
def every_matrix_learns(load_adapter, at: Situation) -> str | None:
    loaded = _load(load_adapter, at)
    if backward_fails(_loss(loaded.model, at)):
        return NOTHING_YET
    reached = set(map(_matrix, names_with_gradient(loaded.model)))
    asked = [_matrix(n) for n, _ in loaded.saved.named_parameters() if "lora_" in n]
    missing = [name for name in asked if name not in reached]
    return f"no gradient reaches {', '.join(missing)}" if missing else None


def _matrix(name: str) -> str:
    """The name up to lora_A or lora_B, without that of the adapter, which is free."""
    return name.rsplit(".", 2)[0] if "lora_" in name else name


@in_every_situation
def folder_stays_as_it_was(load_adapter, at: Situation) -> str | None:
    loaded = _load(load_adapter, at)
    names = loaded.folder_before.keys() | loaded.folder_after.keys()
    before, after = loaded.folder_before, loaded.folder_after
    other = sorted(name for name in names if before.get(name) != after.get(name))
    return f"other than before the call: {', '.join(other)}" if other else None


def load_for_training(base, folder):
    return PeftModel.from_pretrained(base, folder, is_trainable=True)


ADAPTER = Exercise(
    id="06.9",
    name="ADAPTER",
    title="Snippet 5, a saved adapter",
    minutes=1,
    difficulty="one argument",
    points=1,
    reads="load_adapter",
    expects=(Callable,),
    hints=(
        "What does PEFT think you are going to do with a model that you load?",
        "model.train() switches dropout on; it does not touch requires_grad.",
        "Loading for more training is one more argument, a boolean, of the call you have. Its help "
        "lists it third.",
    ),
    form=returns_a_model,
    may_change=(0,),
    criteria=(
        Criterion(
            "backward() runs on what the model returns.",
            runs_backward,
            why="an adapter that is loaded for inference is frozen like its base",
            next="count the parameters that require grad after loading",
        ),
        Criterion(
            "The model starts from the saved adapter.",
            goes_on_from_what_was_saved,
            why="a new adapter starts at 0, and the first training is thrown away",
            next="load the folder instead of making a new adapter",
        ),
        Criterion(
            "The base stays frozen.",
            base_stays_frozen,
            why="unfreezing everything turns LoRA into full fine-tuning, which needs its memory",
            next="unfreeze the adapter's matrices only",
        ),
        Criterion(
            "Every LoRA matrix gets a gradient, A and B of each layer.",
            every_matrix_learns,
            why="with A frozen the adapter can only learn in the directions it already has",
            next="A and B of every layer belong to the adapter",
        ),
        Criterion(
            "The saved folder stays as it was.",
            folder_stays_as_it_was,
            why="the next reader of the folder gets another adapter than the one that was saved",
            next="loading does not need to write anything",
        ),
    ),
    answer=load_for_training,
)
