"""Looks whether the integer type in which token ids are kept can hold the whole vocabulary."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject

READ = 2**20  # ids of a file that are read, at even distances
NUM_ROWS = 256  # of a data set of columns that are read, at even distances
FULL = 0.9  # of the type's range: an id beyond that stands in the file
LIMITS = (2**15, 2**16)
BYTE = 2**8  # near which a vocabulary of bytes ends by itself
ENOUGH = 20  # ids of the last tenth below a limit, to miss those of the tenth above it


def look_at_id_type(subject: Subject, sheet: Sheet) -> None:
    """An id that is too large for its type becomes another id, without an error."""
    data = getattr(subject.trainer, "train_dataset", None)
    if subject.kind == POLICY or subject.tokenizer is None or not has_ids(subject.rows):
        return
    size = len(subject.tokenizer)
    for name, ids in _kept_in(data, subject.rows["input_ids"]):
        room, largest = np.iinfo(ids.dtype).max + 1, int(ids.max())
        overflows = size > (room / FULL if room == BYTE else room)
        if overflows and largest >= FULL * room:
            said = f"the {ids.dtype} in train_dataset.{name} go up to {largest}"
            _found(f"train_dataset.{name}", room, size, said, COUNTED, sheet)
            return
    if size > BYTE and hasattr(data, "with_format") and hasattr(data, "__len__"):
        _by_count(data, subject.tokenizer, sheet)


def _kept_in(data: Any, ids: Tensor) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of whole numbers that a data set holds, and that hold the ids of the first rows."""
    seen = np.unique(ids.cpu().numpy())
    for name, value in vars(data).items() if hasattr(data, "__dict__") else ():
        array = value.numpy() if isinstance(value, Tensor) and value.device.type == "cpu" else value
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or not array.size:
            continue
        flat = array.reshape(-1)[:: max(1, array.size // READ)]
        if array.size >= ids.numel() and np.isin(seen, flat).mean() >= FULL:
            yield name, flat


def _by_count(data: Any, tokenizer: Any, sheet: Sheet) -> None:
    """What is just below the end of a type is frequent, or what a special token wraps to; and
    none above it occurs.
    """
    if "input_ids" not in (getattr(data, "column_names", None) or ()):
        return
    size = len(tokenizer)
    plain = data.with_format(None).select_columns(["input_ids"])  # without a transform
    rows = plain[:: max(1, len(data) // NUM_ROWS)]["input_ids"]
    ids = np.array([i for row in rows for i in row])
    for room in (BYTE, *LIMITS):
        if size <= room or not len(ids) or int(ids.max()) >= room:
            continue
        below = int(((ids >= FULL * room) & (ids < room)).sum())
        specials = [
            one for one in getattr(tokenizer, "all_special_ids", ()) if room <= one < 2 * room
        ]
        wrapped = {one: int((ids == one - room).sum()) for one in specials}
        if size > room / FULL and below >= ENOUGH and room != BYTE:
            said = f"{below} ids of {len(rows)} rows are {FULL * room:.0f} to {room - 1}, and none "
            _found("input_ids", room, size, f"{said}is above", MEASURED, sheet)
        elif sum(wrapped.values()) >= ENOUGH:
            one = max(wrapped, key=wrapped.__getitem__)
            name = tokenizer.convert_ids_to_tokens(one)
            said = f"{name!r}, id {one}, is in none of {len(rows)} rows, and the id to which it "
            said += f"would wrap, {one - room}, stands there {wrapped[one]} times"
            _found("input_ids", room, size, said, MEASURED, sheet)


def _found(place: str, room: int, size: int, said: str, weight: float, sheet: Sheet) -> None:
    sheet.find(
        "ids_wrapped",
        weight,
        f"{said}; the tokenizer has {size} tokens, of which {room} to {size - 1} do not fit",
        place=place,
        why=f"the ids are kept in a type that ends at {room - 1}: larger ones wrap round to other "
        "tokens, and are never learnt",
        advice=f"keep the ids in {np.min_scalar_type(size - 1)}, and write the file anew",
    )
