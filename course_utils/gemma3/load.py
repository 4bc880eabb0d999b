"""Loads a Gemma 3, measures and rescales it for float16. Builds on `reach` and `stream`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_utils import zoo
from course_utils.errors import BadRequest
from course_utils.gemma3.reach import check_range
from course_utils.gemma3.stream import rescale_stream

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def load_for_float16(
    model: str,
    batch: Mapping[str, Tensor] | None = None,
    *,
    dtype: str = "float32",
    device: str = "auto",
) -> "PreTrainedModel":
    """Load a Gemma 3 by path or hub id, rescaled so that its stream fits into float16.

    The checkpoint is loaded in float32, measured by `check_range` and multiplied by the factor
    that it gives (1 if the stream fits as it is). Adapters trained on it fit the original too.

    Args:
        model: path or hub id.
        batch: token ids to measure with; default: a few sentences. Take your own data.
        dtype: of the weights given back. "float32" for mixed precision (`fp16=True`), "float16"
            for a model that is float16 throughout.

    Raises:
        ModelUnavailable: there is no such model.
        BadRequest: it is not a Gemma 3, or its branches overflow, which no rescaling of the stream
            can fix.

    >>> load_for_float16("tiny-gemma3", dtype="float16", device="cpu").dtype
    torch.float16
    """
    loaded = zoo.load_policy(model, device=device)
    found = check_range(loaded, batch)
    if not found.can_be_rescaled:
        raise BadRequest(
            found.headline,
            why="a rescaled stream leaves the numbers inside attention and MLP as they are",
            fix="use bfloat16, or float32 where there is none",
        )
    return rescale_stream(loaded, found.factor).to(getattr(torch, dtype))
