"""What `compare_splits` shows: the splits side by side, and what makes the difference."""

import math
from dataclasses import asdict, dataclass

from course_utils.diagnostics.splits.judging import (
    FACTOR,
    OTHER,
    RANKS,
    SAME,
    WEIGHTS,
    ComparedSplit,
)
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table

COUNT = "the count of the whole optimizer step, over all micro-batches and ranks"
DIVIDE = f"add up the token losses of a micro-batch and divide by {COUNT} (num_items_in_batch)"
MORE = (
    "more than one set of weights and a factor: the loss has several terms divided by different "
    "counts (padding may be counted in one), or the micro-batches' gradients are not just added"
)
LOOK_FOR_MORE = (
    "look at the count of each term, one term at a time, then for what is done between two "
    "backward passes: a clip, a reset, a step"
)
GATHER = (
    "set average_tokens_across_devices = True (its default), so that the count is that of all "
    "ranks; with it, a loss of your own is multiplied by the number of processes"
)
NOT_FINITE = (
    "A gradient is nan or inf, so splits cannot be compared.",
    "a loss or its backward pass is not finite for some of these rows",
    "trace_step(trainer, rows) names the operation, its line and the row",
)
ALL_ZERO = (
    "The gradient of all rows at once is exactly 0, so splits cannot be compared.",
    "no label counts, or the loss does not depend on what is trained",
    "inspect_batch(trainer) shows the labels, audit_gradients(trainer) the graph",
)
RANDOM = (
    "The same split gives another gradient each time (by {noise:.1e}), so splits cannot be "
    "compared: something is drawn at random.",
    "",
    "",
)
FACTORS = {
    "G": (
        "nobody divides by the number of micro-batches, G",
        "set loss_is_scaled_for_ga = False on a Trainer whose loss is a mean, or divide by G",
    ),
    "1/G": (
        "it is divided by G once too often",
        "set loss_is_scaled_for_ga = True on a Trainer whose loss is divided by the whole count",
    ),
    "1/ranks": (
        "the gradient is averaged over the ranks, and the loss was divided by the count of all",
        "multiply the loss by the number of processes (self.accelerator.num_processes)",
    ),
    "ranks": (
        "the loss is multiplied by the number of ranks once too often",
        "multiply by the number of processes only what was divided by the count of all ranks",
    ),
}


@dataclass(frozen=True)
class SplitReport(Report):
    """The gradient of the same rows for several splits, beside that of one micro-batch."""

    compared: tuple[ComparedSplit, ...]
    num_rows: int
    targets: tuple[int, ...] = ()  # of each row; () where they are not known
    noise: float = 0.0  # the difference of the same split from itself
    tolerance: float = 1e-4
    counts_alone: bool = False  # the Trainer is told to count on each rank for itself

    is_zero: bool = False  # the gradient of all rows at once

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.noise) and all(math.isfinite(o.distance) for o in self.compared)

    @property
    def is_repeatable(self) -> bool:
        return self.noise <= self.tolerance

    @property
    def _why_nothing(self) -> tuple[str, str, str]:
        """Headline, cause and fix where gradients cannot be compared; "" where they can."""
        if not self.is_finite:
            return NOT_FINITE
        if self.is_zero:
            return ALL_ZERO
        return RANDOM if not self.is_repeatable else ("", "", "")

    @property
    def worst(self) -> ComparedSplit:
        """The split that differs most; one rank before several."""
        sick = [one for one in self.compared if one.kind != SAME]
        alone = [one for one in sick if one.num_ranks == 1]
        return max(alone or sick or self.compared, key=lambda one: one.distance)

    @property
    def is_healthy(self) -> bool:
        return not self._why_nothing[0] and all(one.kind == SAME for one in self.compared)

    @property
    def state(self) -> State:
        return State.PLAIN if self.is_healthy else State.BAD

    @property
    def headline(self) -> str:
        if self._why_nothing[0]:
            return self._why_nothing[0].format(noise=self.noise)
        worst = self.worst
        if self.is_healthy:
            return (
                f"The gradient of {self.num_rows} rows is the same for {len(self.compared) + 1} "
                f"splits, to {worst.distance:.0e}. (A factor that all share cannot be seen.)"
            )
        said = f"cosine {worst.cosine:.3f}, norm times {worst.ratio:.3g}"
        return f"The gradient depends on the split: {worst.name} against all at once has {said}."

    @property
    def cause(self) -> str:
        if self.is_healthy or self._why_nothing[0]:
            return self._why_nothing[1]
        worst = self.worst
        factor = FACTORS.get(worst.factor_name, (f"a factor of {worst.factor:.3g}", ""))[0]
        if worst.kind == FACTOR:
            return f"a factor alone: {factor}"
        if worst.kind == OTHER:
            return MORE
        on_top = "" if worst.factor_name == "1" else f"; and on top, {factor}"
        return f"{self._weights}{on_top}"

    @property
    def _weights(self) -> str:
        of, where = "micro-batch", ""
        if self.worst.kind == RANKS:
            of = "rank"
            where = " (average_tokens_across_devices is False)" if self.counts_alone else ""
        own = f"each {of} is averaged over its own count{where}, so a token in a small one weighs"
        if not self.targets:
            return f"{own} more than one in a large one"
        return f"{own} more (rows have {min(self.targets)} to {max(self.targets)} targets)"

    @property
    def fix(self) -> str:
        if self.is_healthy or self._why_nothing[0]:
            return self._why_nothing[2]
        if self.worst.kind == RANKS and self.counts_alone:
            return GATHER
        if self.worst.kind in (WEIGHTS, RANKS):
            return DIVIDE
        if self.worst.kind == OTHER:
            return LOOK_FOR_MORE
        return FACTORS.get(self.worst.factor_name, ("", DIVIDE))[1]

    def table(self) -> Table:
        first = (f"{self.num_rows} x 1", "1", "1", "0", "", "")
        rows = [first, *map(_row, self.compared)]
        columns = ("rows x micro-batches", "cosine", "norm", "difference", "weights", "factor")
        return Table(columns=columns, rows=rows)

    def to_dict(self) -> dict:
        return {
            "is_healthy": self.is_healthy,
            "is_finite": self.is_finite,
            "is_zero": self.is_zero,
            "noise": self.noise,
            "tolerance": self.tolerance,
            "splits": [{"name": one.name, **asdict(one)} for one in self.compared],
        }


def _row(one: ComparedSplit) -> tuple[str, ...]:
    size = "0" if one.kind == SAME else f"{one.distance:.2g}"
    weights = {SAME: "right", FACTOR: "right", OTHER: "?"}.get(one.kind, "wrong")
    factor = "?" if one.kind == OTHER else one.factor_name
    return one.name, f"{one.cosine:.3f}", f"{one.ratio:.3g}", size, weights, factor
