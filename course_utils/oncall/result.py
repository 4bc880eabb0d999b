"""What a run left, as data: its weights in a model of the base's shape, its tokenizer, its ends.

None of the run's code is run, and no log is believed: only tensors, a tokenizer's JSON and
generation settings are read.
"""

import json
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
import transformers  # and no class of it: a model's takes a second, and a ticket needs none
from safetensors.torch import load
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

MODEL = "run/model"
# Of the trained matrices with the base's, all together and each alone. Of healthy runs no matrix is
# below 0.86; a fix that trained a shared expert as well moved one to 0.39, all together to 0.97.
LEAST_COSINE, LEAST_OF_ONE = 0.7, 0.25
QUESTION = "987654+321098="  # no test asks it


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
            NothingMade: there are none, they cannot be read, or they do not come from the base.
        """
        name = f"{MODEL}/model.safetensors"
        if name not in self.files:
            raise NothingMade(f"the run left no {name}")
        try:
            weights = {key: value.float() for key, value in load(self.files[name]).items()}
        except Exception as error:  # safetensors raises several kinds
            raise NothingMade(f"{name} cannot be read") from error
        self._check_descent(weights)
        return weights

    def _check_descent(self, weights: dict[str, Tensor]) -> None:
        matrices = {
            name: (weights[name].flatten(), start.float().flatten())
            for name, start in self.start.items()
            if name in weights and weights[name].shape == start.shape and start.dim() > 1
            if start.any()  # zeros have no direction that could be left
        }
        for name, (weight, start) in matrices.items():
            self._refuse_foreign(name, weight, start, LEAST_OF_ONE)
        if matrices:
            whole = map(torch.cat, zip(*matrices.values(), strict=True))
            self._refuse_foreign("the model", *whole, LEAST_COSINE)

    def _refuse_foreign(self, name: str, weight: Tensor, start: Tensor, least: float) -> None:
        cosine = cosine_similarity(weight, start, dim=0).item()
        if cosine < least:  # nan is neither, and is told later
            raise NothingMade(
                f"{name} of {MODEL} has nothing left of base/ (cosine {cosine:.2f}): what is "
                "served must come out of training the base"
            )

    @cached_property
    def start(self) -> dict[str, Tensor]:
        """The tensors of base/."""
        return load(self.base["model.safetensors"])

    @cached_property
    def model(self) -> nn.Module:
        """The trained model, of the base's shape."""
        return filled(transformers.Qwen2ForCausalLM(self.config), self.weights)

    @property
    def config(self) -> transformers.PretrainedConfig:
        return transformers.Qwen2Config(**json.loads(self.base["config.json"]))

    @cached_property
    def tokenizer(self):
        """The tokenizer that was saved with the model: it is what a server would load."""
        return _tokenizer({k.removeprefix(f"{MODEL}/"): v for k, v in self.files.items()})

    @cached_property
    def own_tokenizer(self):
        """The base's tokenizer."""
        return _tokenizer(self.base)

    def asked(self, questions: list[str]) -> list[str]:
        """The text that a server would render for each question, up to the reply.

        Raises:
            NothingMade: the exported template cannot be used, or it writes more about a question
                than the question.
        """
        chats = [[{"role": "user", "content": text}] for text in (QUESTION, *questions)]
        tokenizer = self.tokenizer
        try:
            frame, *texts = tokenizer.apply_chat_template(
                chats, add_generation_prompt=True, tokenize=False
            )
        except Exception as error:  # a template that the run wrote
            raise NothingMade(f"the chat template of {MODEL} cannot be used") from error
        if texts != [frame.replace(QUESTION, text) for text in questions]:
            raise NothingMade(f"the chat template of {MODEL} does not write each question as it is")
        return texts

    def ids(self, texts: list[str]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask` of a batch of texts, each (B, T), padded on the left.

        Raises:
            NothingMade: the exported tokenizer reads other tokens than the base's.
        """
        batch, own = (
            tokenizer(texts, padding=True, return_tensors="pt", add_special_tokens=False)
            for tokenizer in (self.tokenizer, self.own_tokenizer)
        )
        unlike = batch["input_ids"].shape != own["input_ids"].shape
        mask = batch["attention_mask"]
        if unlike or not bool((batch["input_ids"] == own["input_ids"])[mask.bool()].all()):
            raise NothingMade(f"the tokenizer of {MODEL} reads other tokens than that of base/")
        return batch

    def text(self, ids: list[int]) -> str:
        """A reply as a server would write it.

        Raises:
            NothingMade: the exported tokenizer writes other text than the base's.
        """
        text = self.tokenizer.decode(ids)
        if text != self.own_tokenizer.decode(ids):
            raise NothingMade(f"the tokenizer of {MODEL} writes other text than that of base/")
        return text

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
            return transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
        except Exception as error:  # whatever the run wrote there
            raise NothingMade(f"no tokenizer can be loaded from {MODEL}") from error
