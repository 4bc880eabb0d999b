"""Looks at a stream of rows: what several workers read of it, and in which order it comes."""

import random
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.looks.all_rows import judge_stream
from course_utils.diagnostics.diagnosis.measures.data_sets import LABELS
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.pytorch import as_worker
from course_utils.diagnostics.loss_kind import Loss

NUM_ROWS = 4
MOST = 256  # rows that are read to see their order


def look_at_stream(subject: Subject, sheet: Sheet) -> None:
    """Each worker iterates over its own copy of a stream, so the stream must give it a part."""
    data = getattr(subject.trainer, "train_dataset", None)
    number = getattr(subject.args, "dataloader_num_workers", 0)
    if not isinstance(data, IterableDataset) or iter(data) is iter(data):
        return
    if subject.loss is Loss.ROWS:
        with sheet.trying("the order of the stream"), unchanged(data):
            rows = (row for row in islice(data, MOST) if isinstance(row, Mapping))
            labels = [next((row[n] for n in LABELS if n in row), None) for row in rows]
            classes = getattr(getattr(subject.model, "config", None), "num_labels", 0)
            judge_stream(labels, classes, sheet)
    if number < 2:
        return
    with unchanged(data):
        rows = [_rows_of_worker(data, at, number) for at in range(2)]
    if not rows[0] or len({repr(row) for row in rows[0]}) < 2:
        sheet.miss("rows by worker", "the first rows of the stream are alike or there are none")
    elif repr(rows[0]) != repr(rows[1]):
        sheet.clear("rows by worker", f"{number} workers begin with different rows")
    else:
        sheet.find(
            "each_worker_reads_all",
            COUNTED,
            f"worker 0 and worker 1 of {number} begin with the same {len(rows[0])} rows",
            place=f"{type(data).__name__}.__iter__, dataloader_num_workers",
            why=f"each of the {number} workers reads the whole stream, so every row comes {number} "
            "times",
        )


def _rows_of_worker(data: Any, at: int, number: int) -> list:
    """The first rows that a worker of a DataLoader would read, seeded as it would be."""
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(at)
    with as_worker(at, number, data):
        return list(islice(data, NUM_ROWS))
