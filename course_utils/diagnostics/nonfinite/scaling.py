"""Separates the routine overflows of a gradient scaler from those that deserve a second look.

A scaler starts too high and halves, and later doubles every 2000 steps until it overflows again:
none of that is a fault. One replayed step tells, and most overflows need not even that.
"""

from typing import Any

from course_utils.diagnostics.libraries.pytorch import steps_since_growth

EARLY = 16  # as many as a scaler needs from 65536 down to 1


class Scaling:
    """Follows one scaler over a run; does nothing without one."""

    def __init__(self, scaler: Any):
        self.scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self._in_a_row = 0
        self._num_looks = 0

    @property
    def factor(self) -> float:
        return self.scaler.get_scale() if self.scaler is not None else 1.0

    def is_calm(self) -> None:
        """Whether a step had no overflow."""
        self._in_a_row = 0

    def is_suspicious(self) -> bool:
        """Whether to examine this overflow with the scale taken out; counts it.

        The first 16 of a run are; so is one in the middle of a calm stretch, when the scale was
        not raised a step ago, and the 4th, 8th, 16th in a row.
        """
        self._in_a_row += 1
        is_early = self._num_looks < EARLY
        is_calm_stretch = self._in_a_row == 1 and steps_since_growth(self.scaler) > 0
        goes_on = self._in_a_row >= 4 and self._in_a_row & (self._in_a_row - 1) == 0
        is_suspicious = is_early or is_calm_stretch or goes_on
        self._num_looks += is_suspicious
        return is_suspicious
