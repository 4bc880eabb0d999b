"""Stops a run at its first non-finite gradient, weight, loss or metric, and says which.

It changes nothing in a healthy run. It sees through `logging_nan_inf_filter`, because it looks at
the tensors and not at the logged loss.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from numbers import Real

from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from transformers import Trainer, TrainerCallback

from course_utils.errors import BadRequest, TrainingStopped
from course_utils.report import Report, Table

# torch.amp.GradScaler starts at 65536 = 2**16 and halves after every skipped step; one more skip
# than 16 means that the gradients are not finite even without any scaling.
MAX_SKIPPED_STEPS = 16
# GRPO logs nan or None for a reward function that does not apply to any sample of the batch.
NOT_APPLICABLE = ("rewards/*/mean", "rewards/*/std")
MAX_ROWS = 8

WHY = {
    "weight": "every later forward pass goes through these weights, so the run cannot recover",
    "gradient": "optimizer.step would write it into the weights, and gradient clipping has by then "
    "spread one nan to every parameter",
    "loss": "the Trainer's logging_nan_inf_filter replaces it in the log, so the log looks healthy",
    "metric": "a metric is computed from the same numbers as the loss",
}
NAME_THE_OPERATION = "name the operation: course_utils.diagnostics.watch(trainer) replays the step"
FIX = dict.fromkeys(WHY, NAME_THE_OPERATION) | {
    "weight": "keep trainable weights in float32 (in float16 AdamW's eps=1e-8 is 0, and so is "
    "its second moment below |g| = 5e-3); before the first step, look at how the model was loaded",
}


@dataclass(frozen=True)
class BadValue:
    """One tensor or number that is not finite."""

    name: str
    dtype: str  # "float16" and so on; "number" for a logged value
    num_nan: int
    num_inf: int
    num_values: int


@dataclass(frozen=True)
class NonFinite(Report):
    """What was not finite, at which optimizer step, and what is known about the way there."""

    step: int
    kind: str  # a key of WHY
    values: tuple[BadValue, ...]
    note: str = ""

    @property
    def headline(self) -> str:
        first, num = self.values[0], len(self.values)
        more = f", and {num - 1} more" if num > 1 else ""
        note = f"; {self.note}" if self.note else ""
        return f"step {self.step}: {self.kind} {first.name} is not finite{more}{note}"

    def table(self) -> Table:
        rows = [
            (v.name, v.dtype, str(v.num_nan), str(v.num_inf), str(v.num_values))
            for v in self.values[:MAX_ROWS]
        ]
        return Table(columns=(self.kind, "dtype", "nan", "inf", "of"), rows=rows)

    def to_dict(self) -> dict:
        return {**asdict(self), "headline": self.headline}

    def error(self) -> TrainingStopped:
        """The same as an exception."""
        return TrainingStopped(self.text(), why=WHY[self.kind], fix=FIX[self.kind])


class NonFiniteGuard(TrainerCallback):
    """Stops a Trainer, or a loop of your own, at the first value that is not finite.

    In a Trainer it looks at the weights before the first step and after each, at the gradients
    before each, and at every logged number. A bad gradient is caught before the optimizer writes
    it into the weights. After `attach` it also sees the loss of every micro-batch.

    Args:
        action: "raise" ends the run with TrainingStopped; "stop" prints the report, drops the
            bad gradients, lets the Trainer finish in good order and leaves the report in `found`.
        every: look at tensors every so many optimizer steps. Each look waits for the device once.
        ignore: patterns of logged names that may be nan or None.

    With a GradScaler, up to 16 bad gradients in a row are its search for a scale, and pass.

    >>> guard = NonFiniteGuard()
    >>> guard.check(step=1, loss=0.7, grad_norm=1.5)
    >>> guard.check(step=2, loss=0.6, grad_norm=math.nan)
    Traceback (most recent call last):
    course_utils.errors.TrainingStopped: step 2: gradient grad_norm is not finite
    ...
    """

    def __init__(
        self, *, action: str = "raise", every: int = 1, ignore: Iterable[str] = NOT_APPLICABLE
    ) -> None:
        if action not in ("raise", "stop"):
            raise BadRequest(
                f"action={action!r}",
                why="the guard has two ways to end a run",
                fix="use action='raise' or action='stop'",
            )
        self.action, self.every, self.ignore = action, every, tuple(ignore)
        self.found: NonFinite | None = None
        self._num_skipped = 0
        self._losses: list[Tensor] = []

    def attach(self, trainer: Trainer) -> "NonFiniteGuard":
        """Add the guard to a Trainer and let it see each micro-batch's loss as well."""
        trainer.add_callback(self)
        training_step = trainer.training_step

        def seen(*args, **kwargs):
            loss = training_step(*args, **kwargs)
            self._losses.append(loss.detach())
            return loss

        trainer.training_step = seen
        return self

    def check(
        self,
        *,
        step: int,
        loss: Tensor | float | None = None,
        grad_norm: Tensor | float | None = None,
        model: nn.Module | None = None,
        **metrics: Tensor | float,
    ) -> NonFinite | None:
        """The same for a loop of your own: call it after backward, before `optimizer.step()`.

        There a bad gradient is caught before it reaches the weights. Weights that the optimizer
        broke are seen at the next call.

        Args:
            step: number of the optimizer step, for the report.
            loss, grad_norm: as the loop has them; with a GradScaler, after `unscale_`.
            model: its trainable weights and their gradients are looked at.
            metrics: further numbers, by name.

        Raises:
            TrainingStopped: with action="raise", at the first value that is not finite.
        """
        if model is not None and step % self.every == 0:
            self._look_at_tensors("weight", _trainable(model), step)
            self._look_at_tensors("gradient", _gradients(model), step)
        self._look_at_numbers({"loss": loss, "grad_norm": grad_norm, **metrics}, step, absent=None)
        return self.found

    def on_train_begin(self, args, state, control, model=None, **kwargs) -> None:
        note = "it was so before the first step"
        self._look_at_tensors("weight", model.named_parameters(), state.global_step, note=note)
        self._end(control)

    def on_pre_optimizer_step(self, args, state, control, model=None, optimizer=None, **kw) -> None:
        step = state.global_step + 1
        losses = {f"of micro-batch {i}": loss for i, loss in enumerate(self._losses, start=1)}
        self._losses = []
        if step % self.every:
            return
        self._look_at_tensors("loss", losses.items(), step)
        if self._scaler_is_searching(optimizer, model):
            return
        skipped = f"the GradScaler has skipped {self._num_skipped} steps in a row"
        note = skipped if self._num_skipped else ""
        self._look_at_tensors("gradient", _gradients(model), step, note=note)
        if self.found:
            model.zero_grad(set_to_none=True)  # so that the optimizer has nothing to write
        self._end(control)

    def on_step_end(self, args, state, control, model=None, **kwargs) -> None:
        if state.global_step % self.every == 0:
            note = "its gradient was finite, so optimizer.step made it" if self.every == 1 else ""
            self._look_at_tensors("weight", _trainable(model), state.global_step, note=note)
        self._end(control)

    def on_log(self, args, state, control, logs=None, **kwargs) -> None:
        # A scaler's skipped step is logged with its grad_norm; the gradients were judged above.
        judged = {"grad_norm"} if self._num_skipped else set()
        numbers = {name: value for name, value in logs.items() if name not in judged}
        self._look_at_numbers(numbers, state.global_step, absent=math.nan)
        self._end(control)

    def _scaler_is_searching(self, optimizer, model: nn.Module) -> bool:
        scaler = getattr(optimizer, "scaler", None)  # Accelerate's wrapper holds it
        if scaler is None or not scaler.is_enabled():
            return False
        is_good = _all_finite(gradient for _, gradient in _gradients(model))
        self._num_skipped = 0 if is_good else self._num_skipped + 1
        return self._num_skipped <= MAX_SKIPPED_STEPS

    def _look_at_tensors(
        self, kind: str, named: Iterable[tuple[str, Tensor]], step: int, *, note: str = ""
    ) -> None:
        named = list(named)
        if self.found is None and not _all_finite(tensor for _, tensor in named):
            bad = [_count(name, tensor) for name, tensor in named if not tensor.isfinite().all()]
            self._find(NonFinite(step, kind, tuple(bad), note))

    def _look_at_numbers(self, logs: Mapping, step: int, *, absent: float | None) -> None:
        """`absent` is what a None stands for: GRPO logs None where every value was nan."""
        for name, value in logs.items():
            value = value.detach() if isinstance(value, Tensor) else value
            value = absent if value is None else value
            if not isinstance(value, Real | Tensor) or math.isfinite(value):
                continue
            if self.found is None and not any(fnmatch(name, pattern) for pattern in self.ignore):
                kind = {"loss": "loss", "grad_norm": "gradient"}.get(name, "metric")
                number = BadValue(name, "number", int(math.isnan(value)), int(math.isinf(value)), 1)
                self._find(NonFinite(step, kind, (number,)))

    def _find(self, found: NonFinite) -> None:
        self.found = found
        if self.action == "raise":
            raise found.error()
        print(found)

    def _end(self, control) -> None:
        if self.found:
            control.should_training_stop = True


def _trainable(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


def _gradients(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]


def _all_finite(tensors: Iterable[Tensor]) -> bool:
    """One fused reduction and one wait; more only if it says inf, which may be its own overflow.

    On a CPU the 2-norm takes a twentieth of the time of isfinite() or of the largest magnitude.
    """
    tensors = [t.detach() for t in tensors if t.is_floating_point() and t.numel()]
    norm = get_total_norm(tensors)
    return bool(norm.isfinite()) or all(bool(t.isfinite().all()) for t in tensors)


def _count(name: str, tensor: Tensor) -> BadValue:
    dtype = str(tensor.dtype).removeprefix("torch.")
    num_nan, num_inf = int(tensor.isnan().sum()), int(tensor.isinf().sum())
    return BadValue(name, dtype, num_nan, num_inf, tensor.numel())
