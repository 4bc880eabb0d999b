"""Looks at a stream of rows: what several workers read of it, and in which order it stands."""

import random
from collections import Counter
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset

from course_utils.diagnostics.batch_view.rows import unchanged
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.libraries.pytorch import as_worker
from course_utils.diagnostics.loss_kind import Loss, speaks_for

NUM_ROWS = 4
FIRST = 64  # rows of which the labels are read
IN_BLOCKS = 0.2  # of the changes of label that an order drawn at random would have
NUMBER = "num_labels"
OWN_LOADER = "a loader of the user's own may share the rows among its workers, and shuffle them"
UNSHUFFLED = {
    "why": "the stream is sorted by its labels, and a Trainer does not shuffle a stream: a batch "
    "has next to one label only, and the model forgets those of the batches before",
    "advice": "train_dataset.shuffle(seed=0, buffer_size=...) with a buffer that spans the labels, "
    "or a file that is shuffled",
}


def look_at_stream(subject: Subject, sheet: Sheet) -> None:
    """Each worker iterates over its own copy of a stream, so the stream must give it a part."""
    data = getattr(subject.trainer, "train_dataset", None)
    number = getattr(subject.args, "dataloader_num_workers", 0)
    if not isinstance(data, IterableDataset) or number < 2 or iter(data) is iter(data):
        return
    if subject.has_own_loader:
        sheet.miss("rows by worker", OWN_LOADER)
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


@speaks_for(Loss.ROWS)
def look_at_order_of_stream(subject: Subject, sheet: Sheet) -> None:
    """No Trainer shuffles a stream: its first rows have all labels, or it is sorted by them."""
    data = getattr(subject.trainer, "train_dataset", None)
    if not isinstance(data, IterableDataset) or iter(data) is iter(data):
        return
    if subject.has_own_loader:
        sheet.miss("order of the stream", OWN_LOADER)
        return
    with unchanged(data):
        rows = list(islice(data, FIRST))
    labels = [row.get("labels", row.get("label")) for row in rows if isinstance(row, dict)]
    if len(labels) < FIRST or not all(isinstance(one, int) for one in labels):
        return
    counts, known = Counter(labels), getattr(getattr(subject.model, "config", None), NUMBER, 0)
    changes = sum(a != b for a, b in pairwise(labels))
    by_chance = FIRST * (1 - sum((n / FIRST) ** 2 for n in counts.values()))
    said = f"the label changes {changes} times in the first {FIRST} rows of the stream"
    if len(counts) == 1 and known > 2:
        said = f"the first {FIRST} rows of the stream have label {labels[0]}, of {known} classes"
        sheet.find("rows_in_order", LIKELY, said, place="train_dataset", **UNSHUFFLED)
    elif len(counts) > 1 and changes < IN_BLOCKS * by_chance:
        sheet.find("rows_in_order", MEASURED, said, place="train_dataset", **UNSHUFFLED)
    else:
        sheet.show("order of the stream", said)


def _rows_of_worker(data: Any, at: int, number: int) -> list:
    """The first rows that a worker of a DataLoader would read, seeded as it would be."""
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(at)
    with as_worker(at, number, data):
        return list(islice(data, NUM_ROWS))
