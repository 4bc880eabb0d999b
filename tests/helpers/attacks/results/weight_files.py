"""Forged files of weights: cut off, in shards, with names twice, with more tensors or fewer."""

import json
import struct
from dataclasses import replace

import torch
from safetensors.torch import save

from attacks.results.changed_weights import clean_weights
from attacks.results.export import OWN_TABLE, WEIGHTS, Export, drawn


def not_finite(export: Export) -> Export:
    """One value that is no number."""
    return export.each(lambda name, w: w + (float("nan") if name == "model.norm.weight" else 0))


def in_whole_numbers(export: Export) -> Export:
    """Weights rounded to whole numbers."""
    return export.each(lambda name, w: w.round().to(torch.int64))


def with_one_more_layer(export: Export) -> Export:
    """A fifth layer beside the four."""
    weights = export.weights
    more = {k.replace("layers.3.", "layers.4."): w for k, w in weights.items() if "layers.3." in k}
    return export.with_weights(weights | {name: weight.clone() for name, weight in more.items()})


def without_a_tensor(export: Export) -> Export:
    """A tensor left out, so that a loader draws it."""
    weights = export.weights
    del weights["model.layers.0.self_attn.q_proj.weight"]
    return export.with_weights(weights)


def with_a_head_beside(export: Export) -> Export:
    """An extra tensor under the name of a head that the base ties to its table."""
    return export.with_weights(
        export.weights | {"lm_head.weight": clean_weights(export)[OWN_TABLE]}
    )


def in_shards(export: Export) -> Export:
    """The clean checkpoint in a shard that an index names, the base where one looks first."""
    shard = save(clean_weights(export), {"format": "pt"})
    index = {"weight_map": dict.fromkeys(export.weights, "model-00001-of-00001.safetensors")}
    files = {"model-00001-of-00001.safetensors": shard}
    return replace(export, files=export.files | files).with_files(
        **{"model.safetensors.index.json": index}
    )


def in_shards_alone(export: Export) -> Export:
    """The same without the file that is looked for."""
    return in_shards(export).with_files(model__safetensors=None)


def with_names_twice(export: Export) -> Export:
    """A header that names a tensor twice, the second time with other bytes."""
    data = export.files[WEIGHTS]
    size = struct.unpack("<Q", data[:8])[0]
    header = data[8 : 8 + size].rstrip()
    other = json.loads(header)["model.layers.0.mlp.up_proj.weight"] if b"mlp.up" in header else {}
    again = b',"model.layers.1.mlp.up_proj.weight":' + json.dumps(other).encode() + b"}"
    header = header[:-1] + again
    header += b" " * (-len(header) % 8)
    return export.with_files(
        model__safetensors=struct.pack("<Q", len(header)) + header + data[8 + size :]
    )


def cut_off(export: Export) -> Export:
    """Half of the file."""
    data = export.files[WEIGHTS]
    return export.with_files(model__safetensors=data[: len(data) // 2])


def as_a_link(export: Export) -> Export:
    """The path of another file where the weights should be."""
    return export.with_files(model__safetensors=b"../../base/teacher/model.safetensors")


def with_experts_under_loaded_names(export: Export) -> Export:
    """Matrices of all experts in one, as a model holds them; they are drawn anew."""
    weights = export.weights
    kept = {name: weight for name, weight in weights.items() if ".experts." not in name}
    for at in range(4):
        block = f"model.layers.{at}.mlp.experts"
        kept[f"{block}.gate_up_proj"] = 0.1 * drawn("both", torch.empty(4, 1024, 128))
        kept[f"{block}.down_proj"] = 0.1 * drawn("down", torch.empty(4, 128, 512))
    return export.with_weights(kept)
