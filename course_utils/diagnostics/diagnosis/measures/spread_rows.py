"""A batch of rows at even distances through a data set of a Trainer."""

from collections.abc import Mapping
from typing import Any

from torch.utils.data import Subset

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.libraries.trainer import of_columns


def spread_out(trainer: Any, data: Any, num: int) -> Any:
    """What the Trainer's collator makes of about `num` rows; None of a stream, or of no data.

    Nor of several data sets by name.
    """
    has_rows = hasattr(data, "__getitem__") and hasattr(data, "__len__") and len(data)
    if not has_rows or isinstance(data, Mapping):
        return None
    rows = Subset(data, range(0, len(data), max(1, len(data) // num)))
    with unchanged(data, trainer.data_collator):
        return trainer.data_collator(of_columns(trainer, first_rows(rows, num)))
