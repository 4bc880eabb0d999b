"""Pairs of replies in the columns of older TRL, as the rows that a model takes.

Until 0.24 a DPO batch held prompt_input_ids, chosen_input_ids and rejected_input_ids (0.12 to 0.24
were read; 1.0 has input_ids), and until 0.17 a reward batch held input_ids_chosen and
input_ids_rejected (0.12 to 0.17; 0.24 has input_ids). The trainer joined them in its forward pass.
Shape letters: B pairs, T tokens.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.versions import version_of

SIDES = ("chosen", "rejected")
Row = tuple[list[int], list[int]]  # ids, and 1 where a token belongs to the reply


def as_rows(batch: Any, trainer: Any = None, pad: int | None = None) -> Any:
    """The batch, with the columns of older TRL joined: the chosen rows, then the rejected ones.

    Args:
        trainer: whose `max_length` and `truncation_mode` cut the rows, as its forward pass does.
        pad: the id that fills rows up, 0 where it is not known.

    >>> pair = {"input_ids_chosen": torch.tensor([[5, 6]]), "input_ids_rejected": torch.ones(1, 1)}
    >>> as_rows(pair)["input_ids"].tolist()
    [[5, 6], [1, 0]]
    """
    if not isinstance(batch, Mapping) or "input_ids" in batch:
        return batch
    if all(f"input_ids_{side}" in batch for side in SIDES):
        rows = [row for side in SIDES for row in _rows(batch, "{}_" + side)]
    elif all(f"{part}_input_ids" in batch for part in ("prompt", *SIDES)):
        asked = _rows(batch, "prompt_{}")
        said = [_rows(batch, f"{side}_" + "{}") for side in SIDES]
        pairs = [pair for side in said for pair in zip(asked, side, strict=True)]
        rows = [_cut(a + b, [0] * len(a) + [1] * len(b), trainer) for (a, _), (b, _) in pairs]
    else:
        return batch
    return _padded(rows, pad or 0)


def _rows(batch: Mapping[str, Tensor], column: str) -> list[Row]:
    """The attended tokens of each row, all of them of the reply."""
    ids = batch[column.format("input_ids")]
    mask = batch.get(column.format("attention_mask"))
    keep = torch.ones_like(ids).bool() if mask is None else mask.bool()
    found = [row[kept].long().tolist() for row, kept in zip(ids, keep, strict=True)]
    return [(row, [1] * len(row)) for row in found]


def _cut(ids: list[int], is_reply: list[int], trainer: Any) -> Row:
    args = getattr(trainer, "args", None)
    limit = getattr(args, "max_length", None)
    if limit is None:
        return ids, is_reply
    # 0.15 to 0.24 follow truncation_mode; 0.12 keeps the start, whatever it says.
    follows = version_of("trl") >= (0, 15)
    keeps_end = follows and getattr(args, "truncation_mode", "") == "keep_end"
    kept = slice(-limit, None) if keeps_end else slice(limit)
    return ids[kept], is_reply[kept]


def _padded(rows: list[Row], pad: int) -> dict[str, Tensor]:
    width = max(len(ids) for ids, _ in rows)
    gaps = [width - len(ids) for ids, _ in rows]
    pairs = list(zip(rows, gaps, strict=True))
    return {
        "input_ids": torch.tensor([ids + [pad] * gap for (ids, _), gap in pairs]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * gap for (ids, _), gap in pairs]),
        "completion_mask": torch.tensor([reply + [0] * gap for (_, reply), gap in pairs]),
    }
