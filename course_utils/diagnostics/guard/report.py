"""What the guard found: the values that are not finite, why that ends a run, and what to do.

Counts and words; it decides nothing.
"""

from dataclasses import asdict, dataclass

from course_utils.diagnostics.guard.values import BadValue
from course_utils.diagnostics.libraries.trainer import norm_by_clipping
from course_utils.errors import TrainingStopped
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table

MAX_ROWS = 8

WHY = {
    "weight": "every later forward pass goes through these weights, so the run cannot recover",
    "gradient": "optimizer.step would write it into the weights, and gradient clipping has by then "
    "spread one nan to every parameter",
    "loss": "the Trainer's logging_nan_inf_filter replaces it in the log, so the log looks healthy",
    "metric": "a logged number changes no weight, but stop_on= names this one",
}
REPLAY = (
    "run it again from the same seed inside `with course_utils.diagnostics.watch(trainer):`; it "
    "names the operation, or what changed the gradients after backward()"
)
CLIPPED = (
    "set max_grad_norm=1.0: with 0, {who} calls clip_grad_norm_(inf) to log the norm, "
    "and a norm that overflows makes every gradient inf / inf = nan"
)
CHECKPOINT = "load the checkpoint afresh, and look at this tensor in its file"
HALF = (
    "keep trainable weights in float32 (in float16 AdamW's eps=1e-8 is 0, and so is "
    "its second moment below |g| = 5e-3)"
)
STEP = "lower the learning rate, and look at weight decay, eps and the optimizer's state"
METRIC = "look at how this metric is computed, or take it off stop_on="


@dataclass(frozen=True)
class NonFinite(Report):
    """The non-finite values, their optimizer step, and what is known about the steps before."""

    step: int
    kind: str  # a key of WHY
    values: tuple[BadValue, ...]
    note: str = ""
    is_clipped: bool = False  # every gradient is nan, under max_grad_norm=0

    state = State.BAD

    @property
    def headline(self) -> str:
        first, num = self.values[0], len(self.values)
        more = f", and {num - 1} more" if num > 1 else ""
        note = f"; {self.note}" if self.note else ""
        return f"step {self.step}: {self.kind} {first.name} is not finite{more}{note}"

    @property
    def cause(self) -> str:
        first = self.values[0]
        row = f" (first in row {first.row})" if first.row is not None else ""
        if self.kind == "weight" and self.step == 0:
            return f"`{first.name}` was so when training began{row}: what was loaded is broken"
        if self.kind == "weight":
            half = ", whose eps is 0 in float16" if first.dtype == "float16" else ""
            return f"the optimizer's step wrote it into `{first.name}`{row}{half}"
        if self.is_clipped:
            return "every gradient is nan although the losses are finite, and max_grad_norm is 0"
        if self.kind == "gradient":
            return "the backward pass, or clipping after it, made it; the loss may look healthy"
        return f"{first.name} itself is not finite"

    @property
    def fix(self) -> str:
        if self.kind == "weight":
            is_half = self.values[0].dtype == "float16"
            return CHECKPOINT if self.step == 0 else HALF if is_half else STEP
        if self.kind == "metric":
            return METRIC
        who = norm_by_clipping() if self.is_clipped else ""
        return CLIPPED.format(who=who) if who else REPLAY

    def table(self) -> Table:
        rows = [
            (v.name, v.dtype, str(v.num_nan), str(v.num_inf), str(v.num_values))
            for v in self.values[:MAX_ROWS]
        ]
        return Table(columns=(self.kind, "dtype", "nan", "inf", "of"), rows=rows)

    def to_dict(self) -> dict:
        words = {"headline": self.headline, "cause": self.cause, "fix": self.fix}
        return {**asdict(self), **words}

    def error(self) -> TrainingStopped:
        """The finding as an exception."""
        table = f"{self.headline}\n{self.table().text()}"
        return TrainingStopped(table, why=WHY[self.kind], fix=self.fix)
