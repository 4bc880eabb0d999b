"""An adapter on a copy of the model that holds no numbers: the model itself is not touched."""

import copy
import warnings
from itertools import chain
from typing import Any

import torch
from torch import nn

from course_utils.errors import BadRequest


def with_adapter(model: nn.Module, targets: Any) -> nn.Module:
    """What `get_peft_model` makes of the model and these targets, on the meta device.

    Raises:
        BadRequest: PEFT does not take these targets for this model.
    """
    from peft import get_peft_model

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return get_peft_model(_on_meta(model), _config(targets), low_cpu_mem_usage=True)
    except Exception as error:  # PEFT raises whatever its parts raise
        first = str(error).strip().split("\n")[0][:300]
        raise BadRequest(
            f"PEFT does not put this adapter on the model: {type(error).__name__}: {first}",
            why="without an adapter there is nothing that it could reach",
            fix="name modules that model.named_modules() prints, or give the config that you use",
        ) from error


def _config(targets: Any) -> Any:
    from peft import LoraConfig, PeftConfig

    if not isinstance(targets, PeftConfig):
        names = targets if isinstance(targets, str) else list(targets)
        return LoraConfig(target_modules=names)
    config = copy.deepcopy(targets)  # PEFT rewrites it
    if hasattr(config, "init_lora_weights"):
        config.init_lora_weights = True  # others compute with the model's numbers
    return config


def _on_meta(model: nn.Module) -> nn.Module:
    """A copy with the shapes and ties of the model, and no numbers."""
    memo = {}
    for tensor in chain(model.parameters(), model.buffers()):
        empty = torch.empty_like(tensor, device="meta")
        is_weight = isinstance(tensor, nn.Parameter)
        memo[id(tensor)] = nn.Parameter(empty, tensor.requires_grad) if is_weight else empty
    return copy.deepcopy(model, memo)
