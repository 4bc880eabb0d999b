"""Exercise 06.9: a saved LoRA adapter that is to be trained further."""

import tempfile
from collections.abc import Callable

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    names_with_gradient,
)
from course_utils.reproductions.small_models import classifier, examples

CONFIG = LoraConfig(r=2, target_modules=["body.0"])


def _load(load_adapter):
    """What the student's function makes of a fresh base and the folder of a trained adapter."""
    adapter = get_peft_model(classifier(), CONFIG)
    with torch.no_grad():
        for name, weight in adapter.named_parameters():
            if "lora_B" in name:
                weight.fill_(0.5)  # as a training run would have left it: not 0
    with tempfile.TemporaryDirectory() as folder:
        adapter.save_pretrained(folder)
        return load_adapter(classifier(), folder), adapter


def _is_model(model: object) -> bool:
    return isinstance(model, torch.nn.Module)


def runs_backward(load_adapter) -> str | None:
    model, _ = _load(load_adapter)
    if not _is_model(model):
        return f"it returns a {type(model).__name__}, where the model is asked"
    return backward_fails(model(examples()[0]).square().sum())


def goes_on_from_what_was_saved(load_adapter) -> str | None:
    model, saved = _load(load_adapter)
    if not _is_model(model):
        return NOTHING_YET
    x, _ = examples()
    difference = (model(x) - saved(x)).abs().max().item()
    if difference < 1e-6:
        return None
    return f"its outputs differ from the saved model's by up to {difference:.2g}"


def base_stays_frozen(load_adapter) -> str | None:
    model, _ = _load(load_adapter)
    if not _is_model(model):
        return NOTHING_YET
    thawed = [n for n, p in model.named_parameters() if p.requires_grad and "lora_" not in n]
    return f"parameters of the base that require grad: {len(thawed)}" if thawed else None


def both_matrices_learn(load_adapter) -> str | None:
    model, _ = _load(load_adapter)
    if not _is_model(model) or backward_fails(model(examples()[0]).square().sum()):
        return NOTHING_YET
    reached = "".join(names_with_gradient(model))
    missing = [half for half in ("lora_A", "lora_B") if half not in reached]
    return f"no gradient reaches {' and '.join(missing)}" if missing else None


def load_for_training(base, folder):
    return PeftModel.from_pretrained(base, folder, is_trainable=True)


def load_and_thaw(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_" in name)
    return model


def load_as_it_was(base, folder):
    return PeftModel.from_pretrained(base, folder)


def load_in_training_mode(base, folder):
    return PeftModel.from_pretrained(base, folder).train()


def load_a_new_adapter(base, folder):
    return get_peft_model(base, CONFIG)


def load_and_thaw_all(base, folder):
    return PeftModel.from_pretrained(base, folder).requires_grad_(True)


def load_and_thaw_half(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_B" in name)
    return model


def load_and_merge(base, folder):
    return PeftModel.from_pretrained(base, folder).merge_and_unload().requires_grad_(True)


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
        "from_pretrained takes is_trainable.",
    ),
    criteria=(
        Criterion(
            "backward() runs on what the model returns.",
            runs_backward,
            why="an adapter that is loaded for inference is frozen like its base",
            next="count the parameters that require grad after loading",
        ),
        Criterion(
            "The model goes on from the saved adapter.",
            goes_on_from_what_was_saved,
            why="a new adapter starts at 0, and the first training is thrown away",
            next="load the folder instead of making a new adapter",
        ),
        Criterion(
            "The base stays frozen.",
            base_stays_frozen,
            why="thawing everything turns LoRA into full fine-tuning, and its memory with it",
            next="thaw the adapter's matrices only",
        ),
        Criterion(
            "Both LoRA matrices get a gradient.",
            both_matrices_learn,
            why="with A frozen the adapter can only learn in the directions it already has",
            next="A and B both belong to the adapter",
        ),
    ),
    right=(load_for_training, load_and_thaw),
    wrong=(
        Wrong(load_as_it_was, caught_by=runs_backward),
        Wrong(load_in_training_mode, caught_by=runs_backward),
        Wrong(load_a_new_adapter, caught_by=goes_on_from_what_was_saved),
        Wrong(load_and_thaw_all, caught_by=base_stays_frozen),
        Wrong(load_and_merge, caught_by=base_stays_frozen),
        Wrong(load_and_thaw_half, caught_by=both_matrices_learn),
    ),
)
