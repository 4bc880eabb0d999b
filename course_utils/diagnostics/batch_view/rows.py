"""Takes the first rows of a dataset; the dataset and all random states stay unchanged."""

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice

import numpy as np
import torch

from course_utils.errors import BadRequest


def first_rows(dataset, n: int) -> list:
    """Copies of the first n rows.

    Raises:
        BadRequest: there is no dataset, none of its rows, or it can be read only once.
    """
    if dataset is None:
        raise BadRequest(
            "the trainer has no train_dataset",
            why="its first rows are what is read here",
            fix="give a batch and a tokenizer instead",
        )
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        rows = [dataset[at] for at in range(min(n, len(dataset)))]
    else:
        if iter(dataset) is iter(dataset):
            raise BadRequest(
                "the dataset can be read only once",
                why="the rows that are read here would be missing from the run",
                fix="give a batch that you took from it, and a tokenizer",
            )
        rows = list(islice(dataset, n))
    if not rows:
        raise BadRequest(
            "the dataset has no rows",
            why="its first rows are what is read here",
            fix="look at what filtered them; rows without a label may have been dropped",
        )
    return copy.deepcopy(rows)


@contextmanager
def unchanged(*drawing: object) -> Iterator[None]:
    """Restores random states: a dataset or a collator may draw, and the run must not notice.

    Args:
        drawing: an object that may hold its own generator, as an attribute.
    """
    of_python, of_numpy = random.getstate(), np.random.get_state()
    restore = [undo for one in drawing for undo in _generators(one)]
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)
            for undo in restore:
                undo()


def _generators(one: object) -> Iterator:
    """For each random generator of an object, a function that restores it."""
    for value in vars(one).values() if hasattr(one, "__dict__") else ():
        if isinstance(value, torch.Generator):
            yield partial(value.set_state, value.get_state())
        elif isinstance(value, random.Random):
            yield partial(value.setstate, value.getstate())
        elif isinstance(value, np.random.Generator):
            bits = value.bit_generator
            yield partial(setattr, bits, "state", bits.state)
