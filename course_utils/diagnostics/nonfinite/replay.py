"""Runs recorded forward and backward passes again, exactly, under full tracing.

Valid only while the weights are still those of the step. A replay that gives another loss than
the one recorded is said to differ, and blames nobody.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.state import Surroundings, set_gradients_aside
from course_utils.diagnostics.nonfinite.step import judge
from course_utils.diagnostics.nonfinite.targets import Target, loss_in, name_tensors
from course_utils.diagnostics.nonfinite.tracer import Tracer

CHANGED = (
    "Something that is not recorded has changed since: the batch was overwritten in place, the "
    "loss keeps a state of its own, or the device's kernels are not deterministic. Call "
    "trace_step on the model and the batch instead."
)


@dataclass
class Pass:
    """One forward pass, and the gradient its backward pass started from."""

    args: tuple
    kwargs: dict
    surroundings: Surroundings
    loss: Tensor | None = None
    seed: Tensor | None = None  # d(what backward was called on) / d(loss); None: not called yet


def replay(
    target: Target, passes: list[Pass], parameters: dict[Tensor, str], *, divide_by: float
) -> NonFiniteReport | None:
    """Replay the micro-batches of one step in order, up to the first that is not finite.

    Args:
        passes: what was recorded, in order.
        parameters: whose gradients count, with their names.
        divide_by: the gradient scaler's factor, to be taken out of the backward passes; 1.0
            replays them as they were.

    Returns:
        The report; None if only the scaler's factor made the gradients overflow.
    """
    tracer = Tracer(ModuleNames(target.roots), {})
    with target.undisturbed(), set_gradients_aside(list(parameters)):
        for number, one in enumerate(passes, start=1):
            for batch in (*one.args, *one.kwargs.values()):
                tracer.inputs |= name_tensors(batch)
            with one.surroundings.again(target.modules):
                loss = _forward(tracer, target, one)
                if not _is_same(loss, one.loss):
                    return _differed(f"its loss was {one.loss.item()!r}, is now {loss.item()!r}")
                if one.seed is not None:
                    with tracer:
                        loss.backward(one.seed / divide_by)
            finding = judge(tracer, loss, parameters)
            if finding is not None:
                details = {"reached": finding.reached, "micro_batch": number}
                return make_report(finding.blame, **details)
    return _differed("its gradients were not finite, and are now") if divide_by == 1.0 else None


def _forward(tracer: Tracer, target: Target, one: Pass) -> Tensor:
    with one.surroundings.autocast(), tracer:
        return loss_in(target.loss_of(*one.args, **one.kwargs))


def _is_same(loss: Tensor, recorded: Tensor) -> bool:
    return torch.allclose(loss.detach(), recorded, rtol=0.0, atol=0.0, equal_nan=True)


def _differed(how: str) -> NonFiniteReport:
    note = f"The replay differed from the step: {how}. {CHANGED}"
    return NonFiniteReport(found=True, note=note)
