"""The rows that a run learns from, as ids: those that a gradient reaches.

It runs inside the box. Shape letters: B row, T token, D width of an embedding.
"""

from torch import Tensor

MOST_ROWS = 8192


class Learned:
    """Rows of ids, each once; a row whose labels are all masked has no gradient and is none."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], None] = {}

    def look(self, ids_BT: Tensor, embedded_BTD: Tensor) -> None:
        """Wait for the gradient of what was embedded."""
        if ids_BT.dim() != 2 or not embedded_BTD.requires_grad:
            return

        def arrived(grad_BTD: Tensor) -> None:
            reached_B = (grad_BTD != 0).flatten(1).any(1)
            if len(self._rows) < MOST_ROWS:
                self._rows |= dict.fromkeys(map(tuple, ids_BT[reached_B].tolist()))

        embedded_BTD.register_hook(arrived)

    def rows(self) -> list[list[int]]:
        return [list(row) for row in self._rows]
