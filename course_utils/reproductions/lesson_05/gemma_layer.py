"""What flows between the parts of one layer of Gemma 3: the tensors themselves, in their formats.

Looks at one forward pass; it changes nothing and judges nothing.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# The tensors in the order in which they are made, and the part of the layer that puts each out.
# The stream is put out by no part: what comes in and the first sum are the inputs of two norms.
READ_BY = {"stream in": "input_layernorm", "stream between": "pre_feedforward_layernorm"}
MADE_BY = {
    "read by attention": "input_layernorm",
    "attention": "self_attn",
    "added by attention": "post_attention_layernorm",
    "read by MLP": "pre_feedforward_layernorm",
    "MLP": "mlp",
    "added by MLP": "post_feedforward_layernorm",
    "stream out": "",
}


@torch.no_grad()
def tensors_in_layer(
    model: "PreTrainedModel", batch: Mapping[str, Tensor], dtype: torch.dtype, *, layer: int = 0
) -> dict[str, Tensor]:
    """The nine tensors of `layer`, each (B, T, D), of a forward pass under autocast to `dtype`.

    >>> from course_utils import zoo
    >>> gemma = zoo.load_policy("tiny-gemma3", device="cpu")
    >>> seen = tensors_in_layer(gemma, {"input_ids": torch.tensor([[1, 2]])}, torch.float16)
    >>> seen["stream in"].dtype, seen["MLP"].dtype
    (torch.float32, torch.float16)
    """
    block, seen, handles = model.model.layers[layer], {}, []

    def keep_input(_module: nn.Module, args: tuple, *, name: str) -> None:
        seen[name] = args[0]

    def keep_output(_module: nn.Module, _args: tuple, output: object, *, name: str) -> None:
        seen[name] = output[0] if isinstance(output, tuple) else output

    for name, part in READ_BY.items():
        hook = partial(keep_input, name=name)
        handles.append(block.get_submodule(part).register_forward_pre_hook(hook))
    for name, part in MADE_BY.items():
        hook = partial(keep_output, name=name)
        handles.append(block.get_submodule(part).register_forward_hook(hook))
    try:
        with torch.autocast(model.device.type, dtype):
            model(**batch)
    finally:
        for handle in handles:
            handle.remove()
    return seen
