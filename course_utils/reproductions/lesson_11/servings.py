"""The ways from a trained adapter to a model that answers. None of them changes what it is given.

The four servers of the lesson are the last functions here. Each is as people wrote theirs.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peft import PeftModel, get_peft_model, set_peft_model_state_dict
from peft.utils.save_and_load import get_peft_model_state_dict
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForCausalLM

from course_utils.reproductions.lesson_11.adapter_life import Trained, base_model
from course_utils.reproductions.lesson_11.grid import put_onto_grid

CONFIG, TENSORS = "adapter_config.json", "adapter_model.safetensors"


@contextmanager
def saved(model: PeftModel) -> Iterator[Path]:
    """The folder of a saved adapter, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        model.save_pretrained(folder)
        yield Path(folder)


@contextmanager
def edited(folder: Path, *, keep=lambda name: True, **settings: object) -> Iterator[Path]:
    """A copy of an adapter's folder with other settings, and with the tensors that `keep` names."""
    with tempfile.TemporaryDirectory(prefix="course-") as copied:
        config = json.loads((folder / CONFIG).read_text()) | settings
        Path(copied, CONFIG).write_text(json.dumps(config))
        tensors = {name: one for name, one in load_file(folder / TENSORS).items() if keep(name)}
        save_file(tensors, Path(copied, TENSORS))
        yield Path(copied)


def reloaded(trained: Trained) -> PeftModel:
    """The adapter's folder, loaded onto a fresh base."""
    with saved(trained.model) as folder:
        return PeftModel.from_pretrained(base_model(trained.base, trained.seed), folder).eval()


def merged(trained: Trained) -> nn.Module:
    """The reloaded adapter, merged into its base."""
    return reloaded(trained).merge_and_unload().eval()


def saved_and_loaded(model: nn.Module) -> nn.Module:
    """A model without an adapter, written to disk and read again."""
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        model.save_pretrained(folder)
        return AutoModelForCausalLM.from_pretrained(folder).eval()


def untie(model: nn.Module) -> nn.Module:
    """Give the head a tensor of its own, in place; the model has an adapter or none."""
    head = model.get_output_embeddings()
    base = getattr(head, "base_layer", head)
    base.weight = nn.Parameter(base.weight.detach().clone())
    model.config.tie_word_embeddings = False
    return model


# --- the four servers of the lesson -------------------------------------------------------------


class Engine(nn.Module):
    """A server's model: the language model is one of its parts."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.language_model = model


def serve_a(trained: Trained) -> nn.Module:
    file = get_peft_model_state_dict(trained.model)
    engine = Engine(
        get_peft_model(base_model(trained.base, trained.seed), trained.model.peft_config["default"])
    )
    set_peft_model_state_dict(
        engine.language_model, {f"language_model.{k}": v for k, v in file.items()}
    )
    return engine.language_model.eval()


def serve_b(trained: Trained) -> nn.Module:
    return saved_and_loaded(merged(trained))


def serve_c(trained: Trained) -> nn.Module:
    return put_onto_grid(merged(trained))


def serve_d(trained: Trained) -> nn.Module:
    return saved_and_loaded(merged(trained))


SERVERS = {"A": serve_a, "B": serve_b, "C": serve_c, "D": serve_d}
