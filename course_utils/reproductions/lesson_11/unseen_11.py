"""A server that adds an adapter to its base by hand; in each of four kinds, one part is at fault.

Two stages were trained: the first, the same for all seeds, is merged and saved; the second is an
adapter on top of it. The server is made of named parts, small functions that `fresh` can replace.
Nothing here is judged.
"""

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from peft import PeftModel
from safetensors.torch import load_file
from torch import Tensor, nn

from course_utils.reproductions import reported_script
from course_utils.reproductions.lesson_11 import jobs, servings
from course_utils.reproductions.lesson_11.adapter_life import base_model, completions, train
from course_utils.reproductions.reported_script import Parts

ORIGINAL, FIRST = "original", "stage_1"
TASK = "plus one, full stop"
NUM_LOADS = 2  # at the start, and once more when the adapter's folder is seen to be new
CAUSES = {
    "a": "the base is not the model that the adapter was trained on",
    "b": "tensors of the file change another weight than in training",
    "c": "the change has another size than in training",
    "d": "a change is added to a weight that already holds it",
    "e": "tensors of the file change nothing",
    "f": "two layers share the tensor that is changed",
}


# --- the parts: one server, in which one part or another is at fault ----------------------------


def base(settings, models):
    """The plain model that the adapter is added to."""
    return models["stage_1"]


def base_of_the_file(settings, models):
    """The plain model that the adapter is added to."""
    return models[settings["base_model_name_or_path"]]


def place(key):
    """The weight that a tensor of the adapter's file belongs to."""
    path, _, _ = key.removeprefix("base_model.model.").rpartition(".lora_")
    return f"{path}.weight"


def place_in_a_fused_layer(key):
    """The weight that a tensor of the adapter's file belongs to."""
    path, _, _ = key.removeprefix("base_model.model.").rpartition(".lora_")
    layer, _, name = path.rpartition(".")
    halves = {"gate_proj": "up_proj", "up_proj": "gate_proj"}
    return f"{layer}.{halves.get(name, name)}.weight"


def change(a, b, settings):
    """What one pair of matrices adds to its weight."""
    r = settings["r"] ** (0.5 if settings["use_rslora"] else 1)
    return settings["lora_alpha"] / r * (b @ a)


def change_by_the_paper(a, b, settings):
    """What one pair of matrices adds to its weight."""
    return settings["lora_alpha"] / settings["r"] * (b @ a)


def load(weights, changes, original):
    """Write the adapter into the served weights; `original` are those of the base."""
    for name, change in changes.items():
        weights[name].copy_(original[name] + change)


def load_in_place(weights, changes, original):
    """Write the adapter into the served weights; `original` are those of the base."""
    for name, change in changes.items():
        weights[name].add_(change)


HEALTHY: Parts = {"base": base, "place": place, "change": change, "load": load}


# --- the run ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """Both stages as they were trained, and what is in the folder of the second."""

    first: nn.Module
    live: PeftModel
    settings: dict
    tensors: dict[str, Tensor]


@cache
def trained(seed: int) -> Trained:
    first = servings.merged(jobs.run("A", 0))
    lora = {"r": 16, "lora_alpha": 8, "use_rslora": True}
    live = train(task=TASK, seed=seed, on=_copy(first), **lora).model
    with servings.saved(live) as folder:
        settings = json.loads(Path(folder, servings.CONFIG).read_text())
        tensors = load_file(folder / servings.TENSORS)
    return Trained(first, live, settings | {"base_model_name_or_path": ORIGINAL}, tensors)


def _copy(model: nn.Module) -> nn.Module:
    copied = base_model()
    copied.load_state_dict(model.state_dict())
    return copied.eval()


class Run:
    """One served model, beside the model as training left it.

    Attributes:
        live: the model with its adapter, as training left it.
        served: the plain model that the server answers with.
        first: stage 1, merged: what the adapter was trained on.
        settings, tensors: what is in the adapter's folder.
    """

    def __init__(self, parts: Parts, seed: int) -> None:
        stages = trained(seed)
        self.live, self.first = copy.deepcopy(stages.live), _copy(stages.first)
        self.settings = dict(stages.settings)
        self.tensors = {key: tensor.clone() for key, tensor in stages.tensors.items()}
        models = {ORIGINAL: base_model(), FIRST: _copy(stages.first)}
        self.served = _copy(parts["base"](dict(self.settings), models))
        self._load(parts)

    @torch.no_grad()
    def _load(self, parts: Parts) -> None:
        weights = dict(self.served.named_parameters())
        original = {name: weight.clone() for name, weight in weights.items()}
        for _ in range(NUM_LOADS):
            parts["load"](weights, self.changes(parts), dict(original))

    def changes(self, parts: Parts) -> dict[str, Tensor]:
        """What the server adds to each weight, by the weight's name."""
        found: dict[str, Tensor] = {}
        for key, a in self.tensors.items():
            if ".lora_A." in key:
                b = self.tensors[key.replace(".lora_A.", ".lora_B.")]
                found[parts["place"](key)] = parts["change"](a, b, dict(self.settings))
        return found

    def completions(self, n: int = 6) -> dict[str, list[str]]:
        """Greedy completions of the same held-out sums."""
        models = {"live": self.live, "served": self.served, "stage 1": self.first}
        return {name: completions(model, n) for name, model in models.items()}


class Ticket(reported_script.Ticket):
    """A server's script."""

    causes = CAUSES

    def run(self, parts: Parts, seed: int) -> Run:
        return Run(parts, seed)


STORY = (
    "Stage 1 teaches the sum plus one and is merged. Stage 2 is an adapter on top of it: the same\n"
    "number with a full stop. Offline it is right. Our own server adds the adapter to the weights\n"
    "at its start, and once more when the health check finds the folder. No error, no warning."
)


def follows_the_file() -> Ticket:
    """The base is the one that the adapter's file names."""
    return Ticket(f"{STORY}\nThe form is new, the numbers are old.", _with(base=base_of_the_file))


def fused_halves() -> Ticket:
    """The change of gate goes to up, and that of up to gate."""
    report = f"{STORY}\nSince our last release, some numbers are wrong."
    return Ticket(report, _with(place=place_in_a_fused_layer))


def scaled_by_the_paper() -> Ticket:
    """The scale is alpha / r, also where training divided by the root of r."""
    report = f"{STORY}\nThe full stop is missing, as if stage 2 had not been trained."
    return Ticket(report, _with(change=change_by_the_paper))


def loaded_in_place() -> Ticket:
    """Each load adds the change to what is there."""
    return Ticket(f"{STORY}\nIt overdoes what it learned.", _with(load=load_in_place))


def _with(**parts) -> Parts:
    return HEALTHY | parts
