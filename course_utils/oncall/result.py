"""What a run left, as data: its weights in a model of the base's shape, its tokenizer, its ends.

None of the run's code is run, and no log is believed: only tensors, a tokenizer's JSON and
generation settings are read.
"""

import json
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from safetensors.torch import load
from torch import Tensor, nn
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

MODEL = "run/model"


class NothingMade(Exception):
    """The run left nothing that can be measured; the message says what is missing."""


@dataclass(frozen=True)
class Result:
    """The files that a run left, and those of the base it started from, by path."""

    files: dict[str, bytes]
    base: dict[str, bytes]

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        """The tensors of run/model.

        Raises:
            NothingMade: there are none, or they cannot be read.
        """
        name = f"{MODEL}/model.safetensors"
        if name not in self.files:
            raise NothingMade(f"the run left no {name}")
        try:
            return {key: value.float() for key, value in load(self.files[name]).items()}
        except Exception as error:  # safetensors raises several kinds
            raise NothingMade(f"{name} cannot be read") from error

    @cached_property
    def start(self) -> dict[str, Tensor]:
        """The tensors of base/."""
        return load(self.base["model.safetensors"])

    @cached_property
    def model(self) -> Qwen2ForCausalLM:
        """The trained model, of the base's shape."""
        return filled(Qwen2ForCausalLM(self.config), self.weights)

    @property
    def config(self) -> Qwen2Config:
        return Qwen2Config(**json.loads(self.base["config.json"]))

    @cached_property
    def tokenizer(self):
        """The tokenizer that was saved with the model: it is what a server would load."""
        return _tokenizer({k.removeprefix(f"{MODEL}/"): v for k, v in self.files.items()})

    @cached_property
    def own_tokenizer(self):
        """The base's tokenizer."""
        return _tokenizer(self.base)

    @property
    def ends(self) -> list[int]:
        """The ids at which a server would stop, as run/model/generation_config.json says."""
        text = self.files.get(f"{MODEL}/generation_config.json", b"{}")
        try:
            said = json.loads(text).get("eos_token_id")
        except (ValueError, AttributeError):
            said = None
        said = said if isinstance(said, list) else [said]
        return [token for token in said if isinstance(token, int)]


def filled(model: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    """`model` with these weights, in evaluation mode.

    Raises:
        NothingMade: they are those of another model, or not all finite.
    """
    own = model.state_dict()
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    names = set(own) - tied
    if names - set(weights) or set(weights) - set(own):
        raise NothingMade(f"the tensors of {MODEL} are not those of the base's architecture")
    if any(own[name].shape != weights[name].shape for name in names):
        raise NothingMade(f"the tensors of {MODEL} have other shapes than the base's, and must not")
    if not all(bool(weights[name].isfinite().all()) for name in names):
        raise NothingMade(f"the weights of {MODEL} are not finite")
    model.load_state_dict({name: weights[name] for name in names}, strict=False)
    model.tie_weights()
    return model.eval()


def _tokenizer(files: dict[str, bytes]):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
            if name in files:
                (Path(folder) / name).write_bytes(files[name])
        try:
            return AutoTokenizer.from_pretrained(folder, padding_side="left")
        except Exception as error:  # whatever the run wrote there
            raise NothingMade(f"no tokenizer can be loaded from {MODEL}") from error
