"""Stops a run at its first non-finite gradient, weight or loss, and says which.

It changes nothing in a healthy run. It sees through `logging_nan_inf_filter`, because it looks at
the tensors and not at the logged loss. If it fails itself, the run goes on.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from numbers import Real
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from course_utils.diagnostics.callbacks import RunCallback
from course_utils.diagnostics.guard import values
from course_utils.diagnostics.guard.report import NonFinite
from course_utils.diagnostics.guard.values import BadValue, harmless
from course_utils.errors import BadRequest
from course_utils.shown.wrap import say

if TYPE_CHECKING:
    from transformers import Trainer

# torch.amp.GradScaler starts at 65536 = 2**16 and halves after every skipped step; one more skip
# than 16 means that the gradients are not finite even without any scaling.
MAX_SKIPPED_STEPS = 16
# GRPO logs nan or None for a reward function that does not apply to any sample of the batch.
NOT_APPLICABLE = ("rewards/*/mean", "rewards/*/std")
MAX_LOSSES = 4096  # micro-batches of one step; where no step ever comes, older ones are forgotten


class NonFiniteGuard(RunCallback):
    """Stops a Trainer, or a loop of your own, at the first value that is not finite.

    In a Trainer it looks at the weights before the first step and after each, at the gradients
    before each, and at every logged number. A bad gradient is caught before the optimizer writes
    it into the weights. After `attach` it also sees the loss of every micro-batch.

    Args:
        action: "raise" ends the run with TrainingStopped; "stop" prints the report, drops the
            bad gradients, lets the Trainer finish in good order and leaves the report in `found`.
        every: look at tensors every so many optimizer steps. Each look waits for the device once.
        ignore: patterns of logged names that may be nan or None without a word.
        stop_on: patterns of metrics that end the run as well. Any other metric that is nan (many
            are so by design, for want of a sample) is printed once, and the run goes on.

    With a GradScaler, up to 16 bad gradients in a row are its search for a scale, and pass.

    >>> guard = NonFiniteGuard()
    >>> guard.check(step=1, loss=0.7, grad_norm=1.5)
    >>> guard.check(step=2, loss=0.6, grad_norm=math.nan)
    Traceback (most recent call last):
    course_utils.errors.TrainingStopped: step 2: gradient grad_norm is not finite
    ...
    >>> guard
    NonFiniteGuard: step 2: gradient grad_norm is not finite
    """

    def __init__(
        self,
        *,
        action: str = "raise",
        every: int = 1,
        ignore: Iterable[str] = NOT_APPLICABLE,
        stop_on: Iterable[str] = (),
    ) -> None:
        if action not in ("raise", "stop"):
            raise BadRequest(
                f"action={action!r}",
                why="the guard has two ways to end a run",
                fix="use action='raise' or action='stop'",
            )
        self.action, self.every = action, every
        self.ignore, self.stop_on = tuple(ignore), tuple(stop_on)
        self.found: NonFinite | None = None
        self.failures: Counter[str] = Counter()
        self.mentioned: set[str] = set()  # metrics that were not finite
        self._looked: Counter[str] = Counter()
        self._num_skipped = 0
        self._losses: deque[Tensor] = deque(maxlen=MAX_LOSSES)

    def __repr__(self) -> str:
        looked = ", ".join(f"{number} times at a {kind}" for kind, number in self._looked.items())
        if self.found is not None:
            text = self.found.headline
        elif looked:
            text = f"nothing found; it looked {looked}"
        else:
            text = "it has looked at nothing; attach(trainer), or call check() in your loop"
        return "; it failed itself: ".join([f"NonFiniteGuard: {text}", *self.failures])

    def attach(self, trainer: "Trainer") -> "NonFiniteGuard":
        """Add the guard to a Trainer and let it see each micro-batch's loss as well.

        Raises:
            BadRequest: this is not a Trainer.
        """
        if not hasattr(trainer, "training_step"):
            raise BadRequest(
                f"{type(trainer).__name__} is no Trainer",
                why="the guard hangs on the callbacks and the training_step of a Trainer",
                fix="in a loop of your own, call guard.check(step=..., loss=..., model=model)",
            )
        trainer.add_callback(self)
        training_step = trainer.training_step

        def seen(*args, **kwargs):
            loss = training_step(*args, **kwargs)
            self._keep(loss)
            return loss

        trainer.training_step = seen
        return self

    @harmless
    def _keep(self, loss: Tensor) -> None:
        self._losses.append(loss.detach().clone())

    @harmless
    def check(
        self,
        *,
        step: int,
        loss: Tensor | float | None = None,
        grad_norm: Tensor | float | None = None,
        model: nn.Module | None = None,
        scaler: Any = None,
        **metrics: Tensor | float,
    ) -> NonFinite | None:
        """The same for a loop of your own: call it after backward, before `optimizer.step()`.

        There a bad gradient is caught before it reaches the weights. Weights that the optimizer
        broke are seen at the next call.

        Args:
            step: number of the optimizer step, for the report.
            loss, grad_norm: as the loop has them.
            model: its trainable weights and their gradients are looked at.
            scaler: the loop's GradScaler; gradients it will skip are no fault, up to 16 in a row.
            metrics: further numbers, by name.

        Raises:
            TrainingStopped: with action="raise", at the first value that is not finite.
        """
        is_due = model is not None and step % self.every == 0
        if is_due:
            self._look_at_tensors("weight", values.trainable(model), step)
        self._look_at_numbers({"loss": loss}, step, absent=None)
        with_gradient = values.gradients(model) if model is not None else []
        is_good = (grad_norm is None or math.isfinite(grad_norm)) and (
            not is_due or values.all_finite(gradient for _, gradient in with_gradient)
        )
        if not self._scaler_is_searching(scaler, is_good):
            if is_due:
                self._look_at_tensors("gradient", with_gradient, step)
            self._look_at_numbers({"grad_norm": grad_norm}, step, absent=None)
        self._look_at_numbers(metrics, step, absent=None)
        return self.found

    @harmless
    def on_train_begin(self, args, state, control, model=None, **kwargs) -> None:
        note = "it was so before the first step"
        self._look_at_tensors("weight", model.named_parameters(), state.global_step, note=note)
        self._end(control)

    @harmless
    def on_pre_optimizer_step(self, args, state, control, model=None, optimizer=None, **kw) -> None:
        step = state.global_step + 1
        losses = {f"of micro-batch {i}": loss for i, loss in enumerate(self._losses, start=1)}
        self._losses.clear()
        if step % self.every:
            return
        self._look_at_tensors("loss", losses.items(), step)
        with_gradient = values.gradients(model)
        is_good = values.all_finite(gradient for _, gradient in with_gradient)
        # Accelerate's wrapper of the optimizer holds the scaler.
        if self._scaler_is_searching(getattr(optimizer, "scaler", None), is_good):
            return
        skipped = f"the GradScaler has skipped {self._num_skipped} steps in a row"
        note = skipped if self._num_skipped else ""
        is_unclipped = getattr(args, "max_grad_norm", None) == 0
        all_nan = is_unclipped and all(bool(g.isnan().all()) for _, g in with_gradient)
        self._look_at_tensors("gradient", with_gradient, step, note=note, is_clipped=all_nan)
        if self.found:
            model.zero_grad(set_to_none=True)  # so that the optimizer has nothing to write
        self._end(control)

    @harmless
    def on_step_end(self, args, state, control, model=None, **kwargs) -> None:
        if state.global_step % self.every == 0:
            note = "its gradient was finite, so optimizer.step made it" if self.every == 1 else ""
            self._look_at_tensors("weight", values.trainable(model), state.global_step, note=note)
        self._end(control)

    @harmless
    def on_log(self, args, state, control, logs=None, **kwargs) -> None:
        # A scaler's skipped step is logged with its grad_norm; the gradients were judged above.
        judged = {"grad_norm"} if self._num_skipped else set()
        numbers = {name: value for name, value in logs.items() if name not in judged}
        self._look_at_numbers(numbers, state.global_step, absent=math.nan)
        self._end(control)

    def _scaler_is_searching(self, scaler: Any, is_good: bool) -> bool:
        if scaler is None or not scaler.is_enabled():
            return False
        self._num_skipped = 0 if is_good else self._num_skipped + 1
        return not is_good and self._num_skipped <= MAX_SKIPPED_STEPS

    def _look_at_tensors(
        self, kind: str, named: Iterable[tuple[str, Tensor]], step: int, **details
    ) -> None:
        named = list(named)
        self._looked[kind] += len(named) > 0
        if self.found is None and not values.all_finite(tensor for _, tensor in named):
            bad = [BadValue.of(name, t) for name, t in named if not t.isfinite().all()]
            self._find(NonFinite(step, kind, tuple(bad), **details))

    def _look_at_numbers(self, logs: Mapping, step: int, *, absent: float | None) -> None:
        """`absent` replaces a None: GRPO logs None where every value was nan."""
        for name, value in logs.items():
            value = value.detach() if isinstance(value, Tensor) else value
            value = absent if value is None else value
            if not isinstance(value, Real | Tensor):
                continue
            kind = {"loss": "loss", "grad_norm": "gradient"}.get(name, "metric")
            self._looked[kind] += 1
            if math.isfinite(value) or any(fnmatch(name, pattern) for pattern in self.ignore):
                continue
            if kind == "metric" and not any(fnmatch(name, pattern) for pattern in self.stop_on):
                self._mention(name, float(value), step)
            elif self.found is None:
                number = BadValue(name, "number", int(math.isnan(value)), int(math.isinf(value)), 1)
                self._find(NonFinite(step, kind, (number,)))

    def _mention(self, name: str, value: float, step: int) -> None:
        if name not in self.mentioned:
            self.mentioned.add(name)
            say(
                f"step {step}: metric {name} is {value}. A logged number changes no weight, so the "
                f"run goes on; NonFiniteGuard(stop_on=[{name!r}]) ends it there."
            )

    def _find(self, found: NonFinite) -> None:
        self.found = found
        if self.action == "raise":
            raise found.error()
        print(found)

    def _end(self, control) -> None:
        if self.found:
            control.should_training_stop = True
