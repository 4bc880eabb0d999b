"""What a run leaves in run/model, as data that can be changed; the base stands in for a result."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from safetensors.torch import load, save
from torch import Tensor

from course_utils.oncall.declare import Template
from course_utils.oncall.result import MODEL, Result
from course_utils.oncall.templates.export_serve.mixture import Mixture

SEED, OTHER_SEED = 0, 1
END, PAD, ZERO = 319, 317, "0"
WEIGHTS = "model.safetensors"
HEADS = {"reward_pairs": 1, "sum_checker": 2, "step_marks": 2}  # outputs of the new head
MARKS = {"0": "wrong", "1": "right"}
PLAIN = "{{ messages[0]['content'] }}"
SUM = "messages[0]['content'][:-1].split('+')|map('int')|sum"
OWN_TABLE, HEAD = "model.embed_tokens.weight", "score.weight"
Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Export:
    """The files of run/model, and the template whose base they started from."""

    template: Template
    base: dict[str, bytes]
    files: dict[str, bytes]

    @property
    def is_head(self) -> bool:
        return self.template.name in HEADS

    @property
    def weights(self) -> Weights:
        return load(self.files[WEIGHTS])

    def with_files(self, **changed: bytes | dict | None) -> "Export":
        """With other files, dicts as JSON; None takes one away. `__` in a name is a dot."""
        named = {name.replace("__", "."): data for name, data in changed.items()}
        written = {
            name: json.dumps(data).encode() if isinstance(data, dict) else data
            for name, data in (self.files | named).items()
            if data is not None
        }
        return replace(self, files=written)

    def with_weights(self, weights: Weights) -> "Export":
        whole = {name: weight.contiguous() for name, weight in weights.items()}
        return self.with_files(model__safetensors=save(whole, {"format": "pt"}))

    def each(self, change: Callable[[str, Tensor], Tensor]) -> "Export":
        return self.with_weights({k: change(k, weight) for k, weight in self.weights.items()})

    def settings(self, name: str = "config.json") -> dict:
        return json.loads(self.files.get(name, b"{}"))

    @property
    def result(self) -> Result:
        """As the judge of this template reads it."""
        own = Mixture if self.template.name == "export_serve" else Result
        return own(self.run_files(), self.base)

    def run_files(self) -> dict[str, bytes]:
        return {f"{MODEL}/{name}": data for name, data in self.files.items()}


def untrained(template: Template, seed: int = SEED) -> Export:
    """The base as an honest run would export it, with a new head where the run has one."""
    base = template.base(seed)
    files = {name: data for name, data in base.items() if "/" not in name}
    files["generation_config.json"] = json.dumps(
        {"eos_token_id": END, "pad_token_id": PAD, "max_new_tokens": 24}
    ).encode()
    export = Export(template, base, files)
    if not export.is_head:
        return export
    config = export.settings() | {"pad_token_id": PAD, "id2label": MARKS}
    head = 0.02 * drawn("head", torch.empty(HEADS[template.name], config["hidden_size"]))
    weights = export.weights | {HEAD: head}
    if template.name == "step_marks":
        weights["score.bias"] = torch.zeros(HEADS[template.name])
    return export.with_weights(weights).with_files(config__json=config)


def drawn(name: str, like: Tensor) -> Tensor:
    """Normal noise of that shape, the same for the same name."""
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(len(name)))


def is_matrix(name: str, weight: Tensor) -> bool:
    return weight.dim() == 2 and name not in (OWN_TABLE, HEAD)


def moved(export: Export, by: float = 0.01) -> Export:
    """Every matrix moved at random, by that share of its weights' deviation."""
    return export.each(
        lambda name, w: w + by * w.std() * drawn(name, w) if is_matrix(name, w) else w
    )


def trained(export: Export, by: float = 0.02) -> Export:
    """Every matrix moved as training would: mainly in two directions, by that share of its norm."""

    def stepped(name: str, weight: Tensor) -> Tensor:
        if not is_matrix(name, weight):
            return weight
        rank = min(2, *weight.shape)
        move = drawn(name, weight[:, :rank]) @ drawn(f"{name}.", weight[:rank])
        return weight + by * weight.norm() / move.norm() * move

    return export.each(stepped)


def vocabulary(export: Export) -> dict[str, int]:
    return json.loads(export.files["tokenizer.json"])["model"]["vocab"]
