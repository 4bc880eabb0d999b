"""One line that shows how far a long cell is; it disappears when the cell ends.

It is a display that is empty when it is made and empty when the cell is done, so the stored
output of a cell does not depend on it. Outside a notebook nothing is shown.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

EMPTY = {"text/plain": "", "text/html": ""}
EVERY_S = 0.3

T = TypeVar("T")


class ProgressLine:
    """The line of the running cell: one per cell, however many loops it has."""

    def __init__(self) -> None:
        self._handle, self._shown_at = None, 0.0

    def show(self, text: str) -> None:
        """Put `text` on the line, at most a few times a second."""
        if getattr(_shell(), "kernel", None) is None:
            return
        if self._handle is None:
            from IPython.display import display  # there in a notebook, and nowhere else needed

            self._handle = display(EMPTY, raw=True, display_id=True)
            _shell().events.register("post_run_cell", self.clear)
        if time.monotonic() - self._shown_at > EVERY_S:
            self._shown_at = time.monotonic()
            html = f'<span style="opacity: 0.75">{text}</span>'
            self._handle.update({"text/plain": text, "text/html": html}, raw=True)

    def clear(self, _result: object = None) -> None:
        """Empty the line; the next cell gets a new one."""
        if self._handle is not None:
            _shell().events.unregister("post_run_cell", self.clear)
            self._handle.update(EMPTY, raw=True)
            self._handle = None


def _shell() -> Any:
    """IPython's shell; None where nobody has imported IPython, so that there is no notebook."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


LINE = ProgressLine()


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Go through `items`, and show on the line how many are done.

    >>> list(track("ab", "letters"))
    ['a', 'b']
    """
    total = len(items) if total is None else total
    began = time.monotonic()
    LINE.show(f"{what}: 0 of {total}")
    for number, item in enumerate(items, start=1):
        yield item
        left_s = (time.monotonic() - began) / number * (total - number)
        LINE.show(f"{what}: {number} of {total}, about {left_s:.0f} s left")


def steps_callback():
    """A callback that shows on the line how far a Trainer's run is."""
    from transformers import TrainerCallback  # takes seconds, and only lessons that train need it

    class StepsOnTheLine(TrainerCallback):
        def on_train_begin(self, args, state, control, **kwargs):
            self._began = time.monotonic()
            LINE.show(f"training: step 0 of {state.max_steps}")

        def on_step_end(self, args, state, control, **kwargs):
            seconds = (time.monotonic() - self._began) / max(state.global_step, 1)
            left_s = seconds * (state.max_steps - state.global_step)
            done = f"step {state.global_step} of {state.max_steps}"
            LINE.show(f"training: {done}, about {left_s:.0f} s left")

    return StepsOnTheLine
