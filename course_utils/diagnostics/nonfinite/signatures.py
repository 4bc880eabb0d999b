"""What one ATen call reads and writes, according to its schema.

A `_foreach_` or `_fused_` call over lists is taken apart into one call for each position.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import OpOverload, schema_of, tree_leaves

# Not tagged as pointwise by torch 2.13, although element i of the result comes from element i.
CASTS = {"to_copy", "copy"}

# These write the whole of their first argument, so what it held before does not matter.
OVERWRITING = {"copy", "fill", "zero", "normal", "uniform", "random", "bernoulli", "exponential"}


@dataclass(frozen=True)
class Signature:
    """One overload.

    >>> read_signature(torch.ops.aten._foreach_add_.Scalar).name
    'add'
    """

    name: str
    is_list: bool
    is_pointwise: bool
    written: tuple[str, ...]  # arguments that the call changes in place
    unread: tuple[str, ...]  # those of them whose former values do not matter
    arguments: tuple[str, ...]

    def split(self, args: tuple, kwargs: dict) -> Iterator[dict]:
        """The arguments by name; for a list overload once per position of the lists."""
        bound = dict(zip(self.arguments, args, strict=False)) | kwargs
        if not self.is_list:
            yield bound
            return
        size = len(bound[self.arguments[0]])
        for i in range(size):
            yield {
                name: value[i] if isinstance(value, list | tuple) and len(value) == size else value
                for name, value in bound.items()
            }

    def outputs(self, result, arguments: dict, position: int) -> list[Tensor]:
        """The tensors that hold the result of the call at `position`."""
        if self.is_list and isinstance(result, list | tuple):
            result = result[position]
        leaves = tree_leaves([result, [arguments.get(name) for name in self.written]])
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        return list({id(tensor): tensor for tensor in tensors}.values())


def _is_pointwise(func: OpOverload, raw: str) -> bool:
    return torch.Tag.pointwise in func.tags or (
        raw.startswith("_foreach_") and not raw.startswith("_foreach_norm")
    )


@cache
def read_signature(func: OpOverload) -> Signature:
    schema = schema_of(func)
    raw = schema.name.partition("::")[2]
    name = raw.removeprefix("_foreach_").removeprefix("_fused_").strip("_")
    arguments = schema.arguments
    written = [a for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    overwrites = name in OVERWRITING
    return Signature(
        name=name,
        is_list=raw.startswith(("_foreach_", "_fused_")),
        is_pointwise=_is_pointwise(func, raw) or name in CASTS,
        written=tuple(a.name for a in written),
        unread=tuple(a.name for a in written if a.kwarg_only or overwrites),
        arguments=tuple(a.name for a in arguments),
    )
