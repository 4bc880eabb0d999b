"""Two lines instead of a full traceback when a cell is interrupted."""

import traceback
from types import TracebackType

from IPython import get_ipython
from IPython.display import display

from course_utils.shown.page import State
from course_utils.shown.report import Note

KEPT = (
    "Answers that passed are kept, and so is everything from the cells above.",
    "A model that was in training is half trained: run the cell that makes it, then this one.",
)


def stop_briefly() -> None:
    """Show a KeyboardInterrupt in this kernel as one note; the cell still counts as failed."""
    if shell := get_ipython():
        shell.set_custom_exc((KeyboardInterrupt,), _show)


def _show(_shell, _kind, error: BaseException, trace: TracebackType, tb_offset=None) -> list[str]:
    display(Note(State.OPEN, f"Stopped{_place(trace)}.", KEPT))
    return [f"{type(error).__name__}: stopped"]


def _place(trace: TracebackType) -> str:
    """The line of the cell that was running; IPython's own frames come before it."""
    in_cell = [(f, number) for f, number in traceback.walk_tb(trace) if _is_cell(f.f_globals)]
    return f" in line {in_cell[0][1]} of this cell" if in_cell else ""


def _is_cell(names: dict) -> bool:
    return names.get("__name__") == "__main__"
