"""Writes a tiny model of the zoo as the libraries of 2024 and 2025 stored theirs. Never trains.

Only names change, but for two things an era may ask for: fewer layers, and the large residual
stream that real Gemma 3 checkpoints have.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.zoo.load import WEIGHTS

if TYPE_CHECKING:
    from torch import Tensor

POST_NORMS = ("post_attention_layernorm.weight", "post_feedforward_layernorm.weight")
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
CONFIG, TENSORS = "config.json", "model.safetensors"


def export_model(name: str, folder: Path, *, layers: int | None = None, stretch: int = 1) -> None:
    """Copy a shipped model to a new folder, in the format of transformers 4.

    Args:
        name: a folder of zoo/weights.
        layers: keep only this many; None keeps all.
        stretch: factor of the residual stream of a Gemma 3; see `stretched`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     export_model("tiny-qwen2", folder := Path(parent, "model"), layers=1)
    ...     json.loads((folder / CONFIG).read_text())["rope_theta"]
    10000.0
    """
    from safetensors.torch import load_file, save_file  # brings torch

    shutil.copytree(WEIGHTS / name, folder)
    config = old_config(json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    if layers is not None:
        config["num_hidden_layers"] = layers
    if stretch != 1:
        config["tie_word_embeddings"] = False
        tensors = stretched(load_file(folder / TENSORS), stretch)
        save_file(tensors, folder / TENSORS, metadata={"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")


def old_config(config: Mapping[str, object]) -> dict[str, object]:
    """The same configuration under the names of transformers 4.

    >>> old_config({"dtype": "float32", "rope_parameters": {"rope_theta": 1e4}})
    {'torch_dtype': 'float32', 'rope_theta': 10000.0}
    """
    old = {name: value for name, value in config.items() if name not in NEW_NAMES}
    if "dtype" in config:
        old["torch_dtype"] = config["dtype"]
    rope = config["rope_parameters"]
    if "rope_theta" in rope:
        return old | {"rope_theta": rope["rope_theta"]}
    return old | {
        "rope_theta": rope["full_attention"]["rope_theta"],
        "rope_local_base_freq": rope["sliding_attention"]["rope_theta"],
        "sliding_window_pattern": config["layer_types"].index("full_attention") + 1,
    }


NEW_NAMES = (
    "dtype",
    "rope_parameters",
    "layer_types",
    "_sliding_window_pattern",
    "transformers_version",
)


def stretched(tensors: Mapping[str, "Tensor"], factor: int) -> dict[str, "Tensor"]:
    """Scale the additions to a Gemma 3's residual stream, and keep its function the same.

    The embedding and the gain (1 + w) of each post-norm are multiplied; every norm that reads the
    stream divides the factor out again. The head, tied before, keeps the embedding as it was.

    Numerics:
        eps stays as it is, one for all norms, so that float32 logits move by about 1e-4.

    Source:
        transformers#37226: the place where large checkpoints leave float16.
    """
    found = dict(tensors) | {HEAD: tensors[EMBEDDING].clone()}
    found[EMBEDDING] = found[EMBEDDING] * factor
    for name in found:
        if name.endswith(POST_NORMS):
            found[name] = (1 + found[name]) * factor - 1
    return found
