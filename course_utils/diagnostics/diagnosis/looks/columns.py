"""Looks for columns that a Trainer drops from the rows although its own loss reads them."""

from collections.abc import Iterator
from types import CodeType
from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject, is_of_a_library
from course_utils.diagnostics.libraries.trainer import of_columns


def look_at_columns(subject: Subject, sheet: Sheet) -> None:
    """Compare the columns that are dropped with the names that the code of the loss holds."""
    trainer = subject.trainer
    names = getattr(getattr(trainer, "train_dataset", None), "column_names", None)
    is_on = getattr(subject.args, "remove_unused_columns", False)
    if trainer is None or not is_on or not names or not subject.has_own_loss:
        return
    if not _drops(trainer):
        return
    [kept] = of_columns(trainer, [dict.fromkeys(names)])
    dropped = set(names) - set(kept)
    functions = (type(trainer).compute_loss, getattr(trainer, "compute_loss_func", None))
    read = {text for function in functions for text in _texts(getattr(function, "__code__", None))}
    for name in sorted(dropped & read):
        sheet.find(
            "column_dropped",
            COUNTED,
            f"the rows have {name!r}, compute_loss names it, and the batch comes without it",
            place=f"remove_unused_columns, column {name!r}",
            why=f"the loss reads the column {name!r}, which the Trainer drops: the model's forward "
            "has no argument of that name",
        )


def _drops(trainer: Any) -> bool:
    """Whether the Trainer's own loader makes the batches: it alone drops columns.

    A method of the user's own may call it (`super`), or read the data set as it is.
    """
    make = type(trainer).get_train_dataloader
    names = getattr(getattr(make, "__code__", None), "co_names", ())
    return is_of_a_library(make) or "super" in names


def _texts(code: CodeType | None) -> Iterator[str]:
    """The texts that stand in a function's code, and in functions inside it."""
    for constant in code.co_consts if code is not None else ():
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _texts(constant)
