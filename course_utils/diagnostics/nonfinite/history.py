"""How losses and weights grew before a fault, so that divergence is called divergence."""

import math
from collections import deque
from dataclasses import dataclass, field

from course_utils.diagnostics.nonfinite.case import Growth

# A fine-tuning run changes the norm of its weights by some percent, and its loss falls.
WEIGHTS_GREW = 3.0
LOSS_GREW = 10.0
STEPS_OF_GROWTH = 3
REMEMBERED = 32


@dataclass
class History:
    """Losses and weight norms of the last steps."""

    losses: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    first_norm: float = 0.0  # L2 norm of the trained weights before the first step
    last_norm: float = 0.0
    num_steps: int = 0
    learning_rate: float | None = None

    def add_loss(self, losses: list[float]) -> None:
        finite = [abs(loss) for loss in losses if math.isfinite(loss)]
        if finite:
            self.losses.append(sum(finite) / len(finite))

    def add_weights(self, before: float, after: float, learning_rate: float | None) -> None:
        self.first_norm = self.first_norm or before
        self.num_steps += 1
        self.learning_rate = learning_rate
        if math.isfinite(after):
            self.last_norm = after

    def growth(self) -> Growth:
        """How the run grew, in words; an empty text if it did not.

        >>> History(first_norm=2.0, last_norm=600.0, num_steps=1).growth().text
        'its weights grew 300-fold in 1 steps'
        """
        factor = self.last_norm / self.first_norm if self.first_norm else 0.0
        if factor > WEIGHTS_GREW:
            text = f"its weights grew {factor:.3g}-fold in {self.num_steps} steps"
            return Growth(text, self.learning_rate)
        low = min(self.losses, default=0.0)
        rising = list(self.losses)[-STEPS_OF_GROWTH:]
        is_rising = len(rising) == STEPS_OF_GROWTH and rising == sorted(rising)
        if is_rising and rising[-1] > LOSS_GREW * max(low, 1e-8):
            text = f"its loss grew from {low:.3g} to {rising[-1]:.3g} step by step"
            return Growth(text, self.learning_rate)
        return Growth("", self.learning_rate)
