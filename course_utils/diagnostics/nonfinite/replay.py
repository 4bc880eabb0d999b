"""Runs recorded forward and backward passes again, exactly, and leaves no trace of it.

Valid only while the weights are still those of the step. A replay that gives another loss than
the one recorded is said to differ, and blames nobody.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from course_utils.diagnostics.nonfinite.batches import KeptBatch, keep
from course_utils.diagnostics.nonfinite.case import Case, Cause
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.rows import rows_of, try_rows
from course_utils.diagnostics.nonfinite.state import Surroundings, set_gradients_aside
from course_utils.diagnostics.nonfinite.step import judge
from course_utils.diagnostics.nonfinite.targets import Target, loss_in, name_tensors
from course_utils.diagnostics.nonfinite.tracer import Tracer
from course_utils.diagnostics.nonfinite.values import all_finite

CHANGED = Cause(
    "step not repeatable",
    "something besides the batch, the weights, the buffers and the random numbers went into it: "
    "the loss keeps a state of its own, or kernels are not deterministic",
    "take that state out of the loss function, set torch.use_deterministic_algorithms(True), and "
    "watch the same run again",
)
# Eager and compiled code round differently; a loss that is not the same differs by far more.
COMPILED_RTOL = 1e-2


@dataclass
class Pass:
    """One forward pass, and the gradient its backward pass started from."""

    run: Callable[..., Any]  # gives the output that holds the loss
    args: tuple  # a private copy, as are the kwargs
    kwargs: dict
    surroundings: Surroundings
    loss: Tensor | None = None
    seed: Tensor | None = None  # d(what backward was called on) / d(loss); None: not called yet

    @classmethod
    def begin(cls, run: Callable[..., Any], args: tuple, kwargs: dict, target: Target) -> "Pass":
        """Record what a forward pass that is about to begin will read."""
        return cls(run, keep(args), keep(kwargs), Surroundings.now(target.modules))

    def copy(self, batch: Any = None) -> tuple[tuple, dict]:
        """Arguments for another run: copies, with another batch of the same form if given."""
        args, kwargs = keep(self.args), keep(self.kwargs)
        return (args, kwargs) if batch is None else self._with(args, kwargs, batch)

    def again(self, args: tuple, kwargs: dict) -> Tensor | None:
        """The loss of another run."""
        with self.surroundings.autocast():
            return loss_in(self.run(*args, **kwargs))

    @property
    def batch(self) -> Any:
        """What the next instrument takes: the one argument that is no model, or all by name."""
        others = [arg for arg in self.args if not isinstance(arg, nn.Module)]
        if len(others) < len(self.args) and others and isinstance(others[0], Mapping):
            batch = KeptBatch(others[0])
            batch.num_items_in_batch = self.kwargs.get("num_items_in_batch")
            return batch
        if not others:
            return self.kwargs
        return others[0] if len(others) == 1 else tuple(others)

    def _with(self, args: tuple, kwargs: dict, batch: Any) -> tuple[tuple, dict]:
        others = [arg for arg in args if not isinstance(arg, nn.Module)]
        models = tuple(arg for arg in args if isinstance(arg, nn.Module))
        if not others:
            return models, batch
        single = len(others) == 1 or models
        rest = tuple(others[1:]) if single else ()
        return models + ((batch, *rest) if single else tuple(batch)), kwargs


@contextmanager
def undisturbed(target: Target, parameters: dict[Tensor, str]) -> Iterator[None]:
    """Inside, passes may run again; afterwards the run is where it was."""
    with target.undisturbed(), set_gradients_aside(list(parameters)):
        yield


def is_bad(
    target: Target, one: Pass, parameters: dict[Tensor, str], batch: Any = None, scale: float = 1.0
) -> bool:
    """Whether the loss, or a gradient, of one pass alone is not finite; nothing is traced."""
    with set_gradients_aside(list(parameters)), one.surroundings.again(target.modules):
        loss = one.again(*one.copy(batch))
        if not all_finite(loss):
            return True
        loss.backward(None if one.seed is None else one.seed / scale)
        return not all(all_finite(p.grad) for p in parameters if p.grad is not None)


def replay(
    target: Target,
    passes: list[Pass],
    parameters: dict[Tensor, str],
    around: Case,
    *,
    divide_by: float,
) -> NonFiniteReport | None:
    """Replay the micro-batches of one step in order, up to the first that is not finite.

    Args:
        passes: what was recorded, in order.
        parameters: whose gradients count, with their names.
        around: what is known of the run, for the cause.
        divide_by: the gradient scaler's factor, to be taken out of the backward passes; 1.0
            replays them as they were.

    Returns:
        The report; None if every loss and gradient was finite.
    """
    tracer = Tracer(ModuleNames(target.roots), {})
    for number, one in enumerate(passes, start=1):
        args, kwargs = one.copy()
        for batch in (*args, kwargs):
            tracer.origins.inputs |= name_tensors(batch)
        with one.surroundings.again(target.modules):
            with tracer:
                loss = one.again(args, kwargs)
            if not _is_same(loss, one.loss, target):
                return _differed(one, f"its loss was {one.loss.item()!r}, is now {loss.item()!r}")
            if one.seed is not None:
                with tracer:
                    loss.backward(one.seed / divide_by)
        found = judge(tracer, loss, parameters)
        if found is not None:
            report = make_report(
                found.blame,
                around=replace(around, batch=one.batch),
                reached=found.reached,
                micro_batch=number,
                num_micro_batches=len(passes),
                note=tracer.note,
            )
            return _with_rows(report, target, one, parameters, divide_by)
    return None


def _with_rows(
    report: NonFiniteReport,
    target: Target,
    one: Pass,
    parameters: dict[Tensor, str],
    scale: float,
) -> NonFiniteReport:
    """Name the rows: those on the trail, else those that are bad alone."""
    if report.phase in ("already in the weights", "already in a buffer"):
        return report
    rows = rows_of(report.origin, report.batch)
    if not rows:
        rows = try_rows(report.batch, lambda b: is_bad(target, one, parameters, b, scale))
    return replace(report, rows=rows)


def _is_same(loss: Tensor, recorded: Tensor, target: Target) -> bool:
    rtol = COMPILED_RTOL if target.is_compiled else 0.0
    return loss.detach().isclose(recorded, rtol=rtol, atol=0.0, equal_nan=True).all().item()


def _differed(one: Pass, how: str) -> NonFiniteReport:
    note = f"The replay differed from the step: {how}."
    return NonFiniteReport(found=True, note=note, batch=one.batch, verdict=CHANGED)
