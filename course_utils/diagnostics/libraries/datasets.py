"""What Hugging Face's data sets keep: read here, so that one place names what may change."""

from typing import Any


def left_out(data: Any, name: str, most: int) -> list:
    """Values of a column in rows that a filter has left out, at even distances; none if unknown.

    A filtered data set keeps the whole table, and the places of the rows that passed (datasets 2
    to 4).
    """
    places, table = getattr(data, "_indices", None), getattr(data, "_data", None)
    if places is None or name not in getattr(table, "column_names", ()):
        return []
    passed = set(places.column(0).to_pylist())
    out = [at for at in range(table.num_rows) if at not in passed]
    values = table.column(name)
    return [values[at].as_py() for at in out[:: max(1, -(-len(out) // most))]]


def num_before_filter(data: Any) -> int:
    """How many rows the table has that a filter was applied to."""
    return getattr(getattr(data, "_data", None), "num_rows", len(data))
