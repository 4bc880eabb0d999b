"""How a NaN distorts the loss that a Trainer logs, computed in both directions.

Pure arithmetic on numbers: no Trainer, no model. Pinned to the real Trainer by a test.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from course_utils.errors import BadRequest, ShapeMismatch
from course_utils.shown.report import Report, Table

# A guess among a vocabulary of 256,000 tokens costs ln(256000) nats; few losses lie above.
LARGEST_ORDINARY = math.log(256_000)
SMALLEST_ORDINARY = 1e-3


def simulate_logged_loss(
    losses: Sequence[float], *, logging_steps: int, gradient_accumulation_steps: int
) -> list[float]:
    """The losses a Trainer would log, with `logging_nan_inf_filter=True`, its default.

    Args:
        losses: mean loss of every micro-batch, in order, in nats; nan or inf where it broke.
            Its length is a multiple of `gradient_accumulation_steps`.
        logging_steps: optimizer steps between two log lines.
        gradient_accumulation_steps: micro-batches per optimizer step.

    Returns:
        One number per log line, in nats if no loss was replaced.

    Raises:
        ShapeMismatch: the last optimizer step has too few micro-batches.

    Numerics:
        The sum is kept in float32. Above 3.4e38 it is inf, and then for ever nan, because the
        Trainer clears it by subtracting it from itself.

    Source:
        transformers 5.23, `Trainer._inner_training_loop` and `_maybe_log_save_evaluate`.

    >>> simulate_logged_loss([0.6, math.nan], logging_steps=2, gradient_accumulation_steps=1)
    [0.45000...]
    """
    if len(losses) % gradient_accumulation_steps:
        raise ShapeMismatch(
            f"{len(losses)} losses with gradient_accumulation_steps={gradient_accumulation_steps}",
            why="an optimizer step needs all of its micro-batches",
            fix="give a multiple of gradient_accumulation_steps losses",
        )
    logged, last_logged = [], 0
    total = np.float32(0)
    with np.errstate(over="ignore", invalid="ignore"):
        for index, loss in enumerate(np.asarray(losses, dtype=np.float32)):
            step, micro_batch = divmod(index, gradient_accumulation_steps)
            if np.isfinite(loss):
                total += loss / np.float32(gradient_accumulation_steps)
            else:
                total += total / np.float32(1 + step - last_logged)
            is_last = micro_batch == gradient_accumulation_steps - 1
            if is_last and (step + 1) % logging_steps == 0:
                logged.append(float(total) / logging_steps)
                total -= total
                last_logged = step + 1
    return logged


@dataclass(frozen=True)
class LoggedLoss(Report):
    """A logged loss in parts: the loss of the healthy steps, and the effect of the filter."""

    logged: float
    logging_steps: int
    gradient_accumulation_steps: int
    num_healthy_steps: int

    @property
    def factor(self) -> float:
        """Logged loss per nat of healthy loss.

        In step s of a window every NaN micro-batch multiplies the sum by (s + 1) / s, so after
        k healthy of N steps, with G micro-batches each, the sum of k losses has grown by
        ((N + 1) / (k + 1))^G; the log divides it by N.
        """
        n, k = self.logging_steps, self.num_healthy_steps
        return k / n * ((n + 1) / (k + 1)) ** self.gradient_accumulation_steps

    @property
    def mean_loss(self) -> float:
        """Mean loss of the healthy steps in the window, in nats."""
        return self.logged / self.factor

    @property
    def is_ordinary(self) -> bool:
        """Whether the logged number is a plausible loss, so that it needs no explanation."""
        return self.logged <= LARGEST_ORDINARY

    @property
    def points_to_filter(self) -> bool:
        """Whether the filter explains a number that is not a plausible loss otherwise."""
        return not self.is_ordinary and _is_loss(self.mean_loss)

    @property
    def mean_if_summed(self) -> float:
        """Mean loss, in nats, if the log shows the sum over the micro-batches of a step."""
        return self.logged / self.gradient_accumulation_steps

    @property
    def headline(self) -> str:
        if self.is_ordinary:
            return self._say_ordinary()
        steps = f"{self.num_healthy_steps} healthy of {self.logging_steps} steps"
        decoded = f"logged {self.logged:.3g} = mean loss {self.mean_loss:.3g} ({steps}), " + (
            f"multiplied by {self.factor:.3g}"
        )
        if self.points_to_filter:
            return decoded
        if self.gradient_accumulation_steps > 1 and _is_loss(self.mean_if_summed):
            return (
                f"logged {self.logged:.5g} = {self.gradient_accumulation_steps} micro-batches of "
                f"{self.mean_if_summed:.3g}: a sum that was not divided; the filter does not "
                f"explain it (mean loss {self.mean_loss:.3g})"
            )
        return f"{decoded}: no loss, so with these settings the filter does not explain it"

    def _say_ordinary(self) -> str:
        plain = f"logged {self.logged:.5g} reads as an ordinary loss"
        if self.logging_steps > self.num_healthy_steps and _is_loss(self.mean_loss):
            return (
                f"{plain}; the filter cannot be excluded, as with {self.num_healthy_steps} healthy "
                f"of {self.logging_steps} steps it would hide a mean of {self.mean_loss:.3g}"
            )
        num = self.gradient_accumulation_steps
        summed = f", or to a sum over {num} micro-batches (of {self.mean_if_summed:.3g} each)"
        return (
            f"{plain}: nothing points to a filter (the healthy steps would have had a loss of "
            f"{self.mean_loss:.3g}){summed if num > 1 else ''}"
        )

    @property
    def cause(self) -> str:
        if self.points_to_filter:
            return (
                "logging_nan_inf_filter put the running mean in the place of every loss that was "
                "nan, and the sum grew with each"
            )
        return ""

    @property
    def fix(self) -> str:
        if self.points_to_filter:
            return "logging_nan_inf_filter=False shows the nan; watch(trainer) says what made it"
        return ""

    def table(self) -> Table:
        """The same number under neighbouring assumptions: only a plausible loss can be true."""
        last = min(self.logging_steps, max(5, self.num_healthy_steps + 2))
        rows = []
        for count in range(1, last + 1):
            other = LoggedLoss(
                self.logged, self.logging_steps, self.gradient_accumulation_steps, count
            )
            rows.append((str(count), f"{other.factor:.3g}", f"{other.mean_loss:.3g}"))
        columns = ("healthy steps", "factor", "their mean loss")
        return Table(columns=columns, rows=rows)

    def to_dict(self) -> dict:
        found = {"factor": self.factor, "mean_loss": self.mean_loss}
        found |= {"is_ordinary": self.is_ordinary, "points_to_filter": self.points_to_filter}
        return {**asdict(self), **found, "headline": self.headline}


def _is_loss(value: float) -> bool:
    return SMALLEST_ORDINARY <= value <= LARGEST_ORDINARY


def decode_logged_loss(
    logged: float,
    *,
    logging_steps: int,
    gradient_accumulation_steps: int,
    nan_from_step: int = 2,
) -> LoggedLoss:
    """Undo what `logging_nan_inf_filter` did to a logged loss, if anything points to it.

    Args:
        logged: the loss in the log line, in nats times an unknown factor.
        logging_steps: optimizer steps between two log lines.
        gradient_accumulation_steps: micro-batches per optimizer step.
        nan_from_step: first optimizer step of this window, from 1, whose losses were all nan or
            inf. The default fits an optimizer that breaks the weights in its first step.

    Raises:
        BadRequest: nothing can be decoded: no step was healthy, none was broken, or the logged
            number is not positive and finite.

    Numerics:
        The factor leaves float32 (and the log shows inf, then nan) once G * ln((N + 1) / (k + 1))
        passes about 88.

    Source:
        huggingface/trl#2367, where 1.19e34 was logged for a loss of ln 2.

    >>> one = decode_logged_loss(1.19e34, logging_steps=25, gradient_accumulation_steps=32)
    >>> print(one.headline)
    logged 1.19e+34 = mean loss 0.672 (1 healthy of 25 steps), multiplied by 1.77e+34
    """
    logged = float(logged)  # as copied from a log
    if not 2 <= nan_from_step <= logging_steps + 1:
        raise BadRequest(
            f"nan_from_step={nan_from_step} with logging_steps={logging_steps}",
            why="without a healthy step in the window the log says 0 whatever the loss was",
            fix=f"give a step from 2 to {logging_steps + 1}; the last means that none was broken",
        )
    if not (math.isfinite(logged) and logged > 0):
        raise BadRequest(
            f"a logged loss of {logged}",
            why="0 is what the filter logs once all is nan, and inf or nan has lost its factor",
            fix="give the first large number in the log, the line before the zeros",
        )
    return LoggedLoss(logged, logging_steps, gradient_accumulation_steps, nan_from_step - 1)
