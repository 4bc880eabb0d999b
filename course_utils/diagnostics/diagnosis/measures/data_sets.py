"""Reads the rows of data sets, as they are kept: no transform and no collator is called."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from torch import Tensor

MOST = 2048  # rows that are read, at even distances
IMAGES = {"image", "images"}  # what TRL's trainers read beside the text
LABELS = ("labels", "label", "label_ids")
OF_REPLIES = (
    *("chosen_ids", "rejected_ids", "chosen_input_ids", "rejected_input_ids"),
    *("completion_ids", "completion_input_ids", "completion"),
)


def columns_of(data: Any) -> list[str]:
    """The names of a data set's columns; none for a stream or a data set of one's own class.

    Of a plain list of dicts, those that all rows have.
    """
    if rows := _dicts_in(data, MOST):
        return [name for name in rows[0] if all(name in row for row in rows)]
    names = getattr(data, "column_names", None)
    is_known = isinstance(names, list) and hasattr(data, "with_format") and hasattr(data, "__len__")
    return list(names) if is_known else []


def column(data: Any, name: str, most: int = MOST) -> list:
    """Values of a column, at even distances; of a data set that lacks it, none."""
    if name not in columns_of(data) or not len(data):
        return []
    if rows := _dicts_in(data, most):
        return [_plain(row.get(name)) for row in rows]
    step = max(1, -(-len(data) // most))
    return data.with_format(None).select_columns([name])[::step][name]


def _dicts_in(data: Any, most: int) -> list[dict]:
    """Rows of a plain list of dicts, at even distances; of anything else, none."""
    if not isinstance(data, list | tuple):
        return []
    rows = list(data[:: max(1, -(-len(data) // most))])
    return rows if all(isinstance(row, dict) for row in rows) else []


def _plain(value: Any) -> Any:
    """What a tensor or an array holds, as lists and numbers."""
    return value.tolist() if isinstance(value, Tensor | np.ndarray) else value


def labels_of(data: Any) -> list:
    """One label per row: whole or other numbers; none where a row has several."""
    name = next((one for one in LABELS if one in columns_of(data)), "")
    values = column(data, name) if name else []
    return values if all(isinstance(value, int | float) for value in values) else []


def frozen(value: Any) -> Hashable:
    """A value of a row that can be counted.

    >>> frozen([[1, 2], [3]])
    ((1, 2), (3,))
    """
    if isinstance(value, list | tuple):
        return tuple(frozen(one) for one in value)
    return frozen(sorted(value.items())) if isinstance(value, dict) else value


def ids_of(data: Any, most: int = MOST) -> list[list[int]]:
    """The ids of each row; none where they are no plain lists of numbers."""
    rows = column(data, "input_ids", most)
    is_plain = all(isinstance(row, list) and row and isinstance(row[0], int) for row in rows)
    return rows if is_plain else []


def inputs_of(data: Any, beside: Iterable[str] = ()) -> list[Hashable]:
    """What the model reads of each row: its ids, with its replies; none where that is not known.

    Args:
        beside: other inputs that the model takes. Images, and what the collator makes, are not
            read here.
    """
    names = columns_of(data)
    if IMAGES & set(names) or not all(_is_plain(data, name) for name in beside):
        return []
    read = [name for name in ("input_ids", "prompt_ids", "prompt_input_ids") if name in names]
    read += [name for name in OF_REPLIES if name in names]
    if not read and "prompt" in names:
        read = ["prompt"]
    read += beside if read else ()
    parts = [column(data, name) for name in read]
    return [tuple(frozen(value) for value in row) for row in zip(*parts, strict=True)]


def _is_plain(data: Any, name: str) -> bool:
    """Whether a data set has this column, with one number or text a row."""
    first = column(data, name, most=1)
    return bool(first) and isinstance(first[0], int | float | str)


def agreement(keys: Iterable[Hashable], values: Iterable[Hashable]) -> float:
    """How far rows of one key have one value, as Fleiss' kappa: 1 is always, 0 as by chance.

    1 where no key stands there twice.

    >>> agreement("aabb", [0, 1, 0, 1]), agreement("aabb", [0, 0, 1, 1])
    (-1.0, 1.0)
    """
    known: dict[Hashable, Counter] = defaultdict(Counter)
    for key, value in zip(keys, values, strict=True):
        known[key][value] += 1
    repeated = [counts for counts in known.values() if counts.total() > 1]
    pairs = sum(counts.total() * (counts.total() - 1) for counts in repeated)
    same = sum(n * (n - 1) for counts in repeated for n in counts.values())
    whole = sum(repeated, Counter())
    by_chance = sum((n / whole.total()) ** 2 for n in whole.values())
    return (same / pairs - by_chance) / (1 - by_chance) if by_chance < 1 and pairs else 1.0
