"""Traces one step and judges it by what counts: loss, gradients, weights.

Leaves the model as it was: gradients, buffers, random numbers, and the optimizer if it ran.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.diagnostics.nonfinite.events import Blame, find_blame
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.state import (
    Surroundings,
    set_gradients_aside,
    undo_optimizer_step,
)
from course_utils.diagnostics.nonfinite.targets import (
    loss_in,
    name_tensors,
    open_target,
)
from course_utils.diagnostics.nonfinite.tracer import Tracer
from course_utils.diagnostics.nonfinite.values import all_finite, is_readable, look


@dataclass(frozen=True)
class Finding:
    """Who is to blame, and what the non-finite number reached."""

    blame: Blame
    reached: str


def trace_step(
    target: Any,
    batch: Any,
    loss_of: Callable[[Any], Any] | None = None,
    *,
    optimizer: torch.optim.Optimizer | None = None,
) -> NonFiniteReport:
    """Run one forward and backward pass and name what first made it non-finite.

    Args:
        target: a model, a Trainer (its `compute_loss`), or only a function of the batch that
            returns the loss; then parameters outside of a module have no name.
        batch: what the target takes; for a Trainer a batch of its own data loader.
        loss_of: for a model: the function of the batch that gives the loss. Default: the loss
            that `model(**batch)` returns.
        optimizer: if given, its step is traced as well, and then undone.

    Returns:
        A report; `report.found` is False when loss, gradients and weights were finite. Infs
        that are consumed on the way, as those of masks, do not count. Without a scalar loss,
        NaN and +inf in the output count, and there is no backward pass.

    Numerics:
        Every look at a tensor waits for the device: a traced step takes several times as long.

    >>> report = trace_step(lambda x: x.exp().clamp(max=10).sum(), torch.tensor([100.0]))
    >>> report.found  # the loss is 10
    False
    """
    opened = open_target(target, loss_of)
    run = opened.loss_of if opened.trainer is None else trainer_loss(opened.trainer)
    inputs = name_tensors(batch)
    tracer = Tracer(ModuleNames(opened.roots), inputs)
    before = Surroundings.now(opened.modules)
    with ExitStack() as stack:
        stack.enter_context(before.again(opened.modules))
        stack.enter_context(opened.undisturbed())
        if optimizer is not None:
            stack.enter_context(undo_optimizer_step(optimizer))
        finding = _run(tracer, run, batch, optimizer)
    if finding is None:
        return NonFiniteReport(found=False, note="Loss, gradients and weights are finite.")
    return make_report(finding.blame, reached=finding.reached)


def trainer_loss(trainer: Any) -> Callable[[Any], Tensor]:
    def loss_of(batch: Any) -> Tensor:
        trainer.model.train()
        if not hasattr(trainer, "current_gradient_accumulation_steps"):  # set by train() only
            steps = trainer.args.gradient_accumulation_steps
            trainer.current_gradient_accumulation_steps = steps
        inputs = trainer._prepare_inputs(batch)
        with trainer.compute_loss_context_manager(), trainer.accelerator.autocast():
            return trainer.compute_loss(trainer.model, inputs)

    return loss_of


def _run(
    tracer: Tracer, loss_of: Callable[[Any], Any], batch: Any, optimizer: Any
) -> Finding | None:
    with tracer:
        output = loss_of(batch)
    loss = loss_in(output)
    if loss is None or not loss.requires_grad:
        return _judge_outputs(tracer, tree_leaves(output))
    leaves = find_leaves(tracer.modules, loss)
    with set_gradients_aside(list(leaves)):
        with tracer:
            loss.backward()
        finding = judge(tracer, loss, leaves)
        if finding is None and optimizer is not None:
            with tracer:
                optimizer.step()
            finding = _judge_tensors(tracer, leaves, "the weight")
    return finding


def judge(tracer: Tracer, loss: Tensor, leaves: dict[Tensor, str]) -> Finding | None:
    """Whether the loss or a gradient of `leaves` (tensor -> name) is not finite, and why."""
    if not all_finite(loss):
        return Finding(find_blame(tracer.event_of(loss, look(loss))), "the loss")
    gradients = {t.grad: name for t, name in leaves.items() if t.grad is not None}
    finding = _judge_tensors(tracer, gradients, "the gradient of")
    if finding is None:
        return None
    return replace(finding, reached=f"{finding.reached}; the loss was finite")


def _judge_outputs(tracer: Tracer, leaves: list) -> Finding | None:
    """Judge what a model put out; -inf alone is what forbidden tokens are given."""
    outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor) and is_readable(leaf)]
    bad = {t: "" for t in outputs if (values := look(t)).has_nan or values.num_inf}
    return _judge_tensors(tracer, bad, "the output")


def _judge_tensors(tracer: Tracer, tensors: dict[Tensor, str], what: str) -> Finding | None:
    """The finding whose trail begins first, over the tensors that are not finite."""
    bad = [(tensor, name) for tensor, name in tensors.items() if not all_finite(tensor)]
    if not bad:
        return None
    blames = [find_blame(tracer.event_of(tensor, look(tensor))) for tensor, _ in bad]
    first = min(blames, key=lambda blame: blame.origin.index)
    name = bad[0][1]
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return Finding(first, f"{what} {name}{more}".rstrip())


def find_leaves(modules: ModuleNames, loss: Tensor) -> dict[Tensor, str]:
    """Every tensor that backward from `loss` may write a gradient to, with its name."""
    leaves = modules.trainable_parameters()  # reentrant checkpoints hide these from the graph
    nodes, seen = [loss.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.setdefault(node.variable, "a tensor outside of any module")
        nodes.extend(parent for parent, _ in node.next_functions)
    return leaves
