"""Traces one step and judges it by what counts: loss, gradients, weights.

Leaves the model as it was: gradients, buffers, random numbers, and the optimizer if it ran.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.libraries.pytorch import tree_leaves
from course_utils.diagnostics.libraries.trainer import num_items_of, prepared
from course_utils.diagnostics.nonfinite import crashes
from course_utils.diagnostics.nonfinite.batches import (
    KeptBatch,
    collate,
    keep,
    not_collated,
    rows_of_dataset,
)
from course_utils.diagnostics.nonfinite.case import Case, Cause
from course_utils.diagnostics.nonfinite.coverage import CUT_LOSS, NO_LOSS
from course_utils.diagnostics.nonfinite.events import Blame, find_blame
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.report import NonFiniteReport, make_report
from course_utils.diagnostics.nonfinite.rows import rows_of
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
class Judgement:
    """The result of one step: the operation to blame, if any, and what was not examined."""

    blame: Blame | None = None
    reached: str = ""  # what the non-finite number reached
    missing: tuple[str, str] | None = None  # what could not be examined, and how it could


def trace_step(
    target: Any,
    batch: Any,
    loss_of: Callable[[Any], Any] | None = None,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    num_items_in_batch: Any = None,
) -> NonFiniteReport:
    """Run one forward and backward pass and name what first made it non-finite.

    Args:
        target: a model, a Trainer (its `compute_loss`), or only a function of the batch that
            returns the loss; then parameters outside of a module have no name. A compiled model
            runs eagerly.
        batch: what the target takes; `report.batch` of a watch; for a Trainer also a row of its
            data set or a list of rows, which its own collator makes a batch of.
        loss_of: for a model: the function of the batch that gives the loss. Default: the loss
            that `model(**batch)` returns.
        optimizer: if given, its step is traced as well, and then undone.
        num_items_in_batch: for a Trainer: the number of labels in the whole accumulated batch.
            Default: counted in this batch, as the Trainer counts it.

    Returns:
        A report; `report.found` is False when nothing examined was inf or NaN, and
        `report.is_clear` is True when loss, gradients and weights were examined. Infs that are
        consumed on the way, as those of masks, do not count. Without a scalar loss, NaN and +inf
        in the output count, and there is no backward pass. A step that dies of an index or label
        out of range is explained as well.

    Raises:
        BadRequest: no model, function or Trainer; rows of a data set and no collator.

    Numerics:
        Every look at a tensor waits for the device: a traced step takes several times as long.

    >>> report = trace_step(lambda x: x.exp().clamp(max=10).sum(), torch.tensor([100.0]))
    >>> report.found  # the loss is 10
    False
    """
    opened = open_target(target, loss_of)
    run = opened.loss_of
    if opened.trainer is not None:
        batch = collate(batch, opened.trainer)
        run = trainer_loss(opened.trainer, num_items_in_batch)
    kept = keep(batch)
    tracer = Tracer(ModuleNames(opened.roots), name_tensors(batch))
    before = Surroundings.now(opened.modules)
    around = Case(batch=kept, max_length=opened.max_length)
    with ExitStack() as stack:
        stack.enter_context(before.again(opened.modules))
        stack.enter_context(opened.undisturbed())
        if optimizer is not None:
            stack.enter_context(undo_optimizer_step(optimizer))
        try:
            judgement = _run(tracer, run, batch, optimizer)
        except Exception as error:
            if rows_of_dataset(batch) is not None and loss_of is None and opened.roots:
                raise not_collated(error) from error
            explained = crashes.explain(error, kept, opened, {})
            if explained is None:
                raise
            return explained
    return _report(judgement, around, tracer.note)


def _report(judgement: Judgement, around: Case, unseen: str) -> NonFiniteReport:
    if judgement.blame is not None:
        rows = rows_of(judgement.blame.origin, around.batch)
        return make_report(
            judgement.blame, around=around, reached=judgement.reached, rows=rows, note=unseen
        )
    if judgement.missing is None:
        return NonFiniteReport(found=False, note="Loss, gradients and weights are finite.")
    what = "The output is" if judgement.missing == NO_LOSS else "The loss is"
    note = f"{what} finite, as are the weights. No gradient was examined: {judgement.missing[0]}."
    verdict = Cause("nothing examined", *judgement.missing)
    return NonFiniteReport(
        found=False, examined=False, note=note, verdict=verdict, batch=around.batch
    )


def trainer_loss(trainer: Any, num_items_in_batch: Any = None) -> Callable[[Any], Tensor]:
    """The Trainer's loss of one batch, as its training step computes it."""

    def loss_of(batch: Any) -> Tensor:
        trainer.model.train()
        if not hasattr(trainer, "current_gradient_accumulation_steps"):  # set by train() only
            steps = trainer.args.gradient_accumulation_steps
            trainer.current_gradient_accumulation_steps = steps
        inputs, num_items = _prepare(trainer, batch, num_items_in_batch)
        with trainer.compute_loss_context_manager(), trainer.accelerator.autocast():
            return trainer.compute_loss(trainer.model, inputs, num_items_in_batch=num_items)

    return loss_of


def _prepare(trainer: Any, batch: Any, num_items: Any) -> tuple[Any, Any]:
    """The inputs of compute_loss and the number of labels that the loss is divided by."""
    if isinstance(batch, KeptBatch):
        return dict(batch), batch.num_items_in_batch if num_items is None else num_items
    if num_items is None and isinstance(batch, Mapping):
        num_items = num_items_of(trainer, [batch])
    return prepared(trainer, batch), num_items


def _run(tracer: Tracer, loss_of: Callable[[Any], Any], batch: Any, optimizer: Any) -> Judgement:
    with tracer:
        output = loss_of(batch)
    loss = loss_in(output)
    if loss is None:
        return _or_weights(tracer, _judge_outputs(tracer, tree_leaves(output)), NO_LOSS)
    if loss.grad_fn is None:
        found = _judge_outputs(tracer, [loss])
        is_trainable = bool(tracer.modules.trainable_parameters())
        return _or_weights(tracer, found, CUT_LOSS if is_trainable else ALL_FROZEN)
    leaves = find_leaves(tracer.modules, loss)
    with set_gradients_aside(list(leaves)):
        with tracer:
            loss.backward()
        found = judge(tracer, loss, leaves)
        is_reached = any(leaf.grad is not None for leaf in leaves)
        if found is None and optimizer is not None:
            with tracer:
                optimizer.step()
            found = _judge_tensors(tracer, leaves, "the weight")
    return _or_weights(tracer, found, None if is_reached else CUT_LOSS)


ALL_FROZEN = (
    "no parameter of the model requires a gradient",
    "unfreeze some, or load the adapter with is_trainable=True",
)


def _or_weights(tracer: Tracer, found: Judgement | None, missing: Any) -> Judgement:
    """The judgement; without one, a non-finite weight that has reached nothing."""
    if found is None:
        found = _judge_tensors(tracer, tracer.modules.named_parameters(), "")
        if found is not None:
            found = replace(found, reached="no loss or gradient of this batch")
    return found if found is not None else Judgement(missing=missing)


def judge(tracer: Tracer, loss: Tensor, leaves: dict[Tensor, str]) -> Judgement | None:
    """Whether the loss or a gradient of `leaves` (tensor -> name) is not finite, and why."""
    if not all_finite(loss):
        return Judgement(find_blame(tracer.origins.event_of(loss, look(loss))), "the loss")
    gradients = {t.grad: name for t, name in leaves.items() if t.grad is not None}
    found = _judge_tensors(tracer, gradients, "the gradient of")
    if found is None:
        return None
    return replace(found, reached=f"{found.reached}; the loss was finite")


def _judge_outputs(tracer: Tracer, leaves: list) -> Judgement | None:
    """Judge a model's outputs; -inf alone is the usual value of forbidden tokens."""
    outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor) and is_readable(leaf)]
    bad = {t: "" for t in outputs if (values := look(t)).has_nan or values.num_inf}
    return _judge_tensors(tracer, bad, "the output")


def _judge_tensors(tracer: Tracer, tensors: dict[Tensor, str], what: str) -> Judgement | None:
    """Judge the tensors that are not finite by the one whose trail begins first."""
    bad = [(tensor, name) for tensor, name in tensors.items() if not all_finite(tensor)]
    if not bad:
        return None
    blames = [find_blame(tracer.origins.event_of(tensor, look(tensor))) for tensor, _ in bad]
    first = min(blames, key=lambda blame: blame.origin.index)
    name = bad[0][1]
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return Judgement(first, f"{what} {name}{more}".rstrip())


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
