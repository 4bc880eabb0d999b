"""Finds odd rows of a batch: rows without a token that counts, numbers that are not finite.

Looks at values only; a tensor's first dimension is taken for its rows.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import keystr, tree_flatten_with_path

IGNORED = -100  # the label that cross-entropy leaves out
MAX_ROWS = 8


def odd_rows(batch: Any) -> list[str]:
    """One sentence for each oddity, with the numbers of the rows.

    >>> odd_rows({"completion_mask": torch.tensor([[0, 1], [0, 0]])})
    ['completion_mask: every number of row 1 is 0']
    """
    if isinstance(batch, list) and len(batch) == 1:  # the only argument of a loss function
        batch = batch[0]
    leaves, _ = tree_flatten_with_path(batch)
    found = []
    for path, leaf in leaves:
        if isinstance(leaf, Tensor) and leaf.ndim > 0 and leaf.numel():
            name = keystr(path).replace("['", ".").replace("']", "").strip(".") or "the batch"
            found += [f"{name}: {sentence}" for sentence in _odd(name, leaf.detach())]
    return found


def _odd(name: str, tensor: Tensor) -> Iterator[str]:
    rows = tensor.reshape(tensor.shape[0], -1)
    if tensor.is_floating_point():
        yield from _say(~rows.isfinite().all(1), "{} holds nan or inf")
    if "mask" in name and tensor.ndim > 1:
        yield from _say((rows == 0).all(1), "every number of {} is 0")
    if "label" in name and tensor.ndim > 1 and not tensor.is_floating_point():
        yield from _say((rows == IGNORED).all(1), f"every label of {{}} is {IGNORED}")


def _say(is_odd: Tensor, sentence: str) -> Iterator[str]:
    numbers = torch.nonzero(is_odd).flatten().tolist()
    if not numbers:
        return
    shown = ", ".join(map(str, numbers[:MAX_ROWS]))
    more = f" and {len(numbers) - MAX_ROWS} more" if len(numbers) > MAX_ROWS else ""
    yield sentence.format(f"row{'s' if len(numbers) > 1 else ''} {shown}{more}")
