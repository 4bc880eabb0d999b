"""Which trainable parameters receive a gradient, and where the graph was cut for the others.

The proof is `.grad` after one backward pass. Never steps an optimizer; leaves all as it was.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge

from course_utils.diagnostics.gradient_flow.crossings import Cause, Crossing, Cut, Flat
from course_utils.diagnostics.gradient_flow.influence import InfluenceMode
from course_utils.diagnostics.gradient_flow.report import (
    Flow,
    GradientFlow,
    HeldParameters,
    ParameterFlow,
    same_layers,
)
from course_utils.diagnostics.gradient_flow.second_look import stays_zero
from course_utils.diagnostics.one_step import open_model, require_loss, training_step
from course_utils.errors import BadRequest

# Crossings by how surely they are the cut: integers and numbers are mostly masks and logging.
DOUBTFUL = (Cause.OTHER, Cause.INTEGER, Cause.ESCAPE)
UNSEEN = Crossing(Cause.UNSEEN, module="", operation="", place=None)
LORA_HALVES = (
    (".lora_A.", ".lora_B."),
    (".lora_B.", ".lora_A."),
    (".lora_embedding_A.", ".lora_embedding_B."),
    (".lora_embedding_B.", ".lora_embedding_A."),
)


def audit_gradients(
    target: Any,
    batch: Any,
    *,
    loss_of: Callable[[Any], Any] | None = None,
    optimizer: Any = None,
) -> GradientFlow:
    """Run one forward and backward pass and say which trainable parameter got a gradient.

    Args:
        target: a model (called as `model(**batch)`) or a Trainer (its `compute_loss`).
        batch: what the target takes; for a Trainer a batch from its data loader.
        loss_of: a function of the batch that calls the model and returns the loss.
        optimizer: if given, its parameter groups are looked at; it does not step. A Trainer's own
            is found once it has one.

    Returns:
        A report. `cuts` holds the places that the loss depends on and no gradient comes back
        through, the first in the order of execution first. A parameter that the loss does not
        depend on is no cut, nor is a LoRA matrix whose partner is still zero. Where a gradient is
        exactly 0, up to two small steps are taken and undone, to see whether it stays so.

    Raises:
        BadRequest: there is no loss, or `target` has no modules.

    Numerics:
        A value is followed through every torch call made from Python, reentrant checkpoints
        and their recomputation included. What a kernel of another library computes is not seen:
        a cut behind it is reported as unseen.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    >>> print(audit_gradients(model, torch.ones(1, 2), loss_of=lambda x: model(x).sum()).headline)
    4 of 4 trainable parameters receive a gradient.
    """
    opened = open_model(target, loss_of)
    model = opened.roots[""]
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    mode = InfluenceMode(model, trainable)
    with training_step(opened):
        with mode:
            loss = require_loss(opened.loss_of(batch))
            if loss.requires_grad:
                _backward(loss, mode)
        largest = _largest_grads(trainable)
        suspects = _suspects(model, largest)

        def again() -> dict[str, float | None]:
            require_loss(opened.loss_of(batch)).backward()
            return _largest_grads(trainable)

        stuck = stays_zero(suspects, trainable, again) if suspects else suspects
    flows = _judge(model, largest, stuck, mode, loss)
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    adapters = [name for name in frozen if ".lora_" in name]
    return GradientFlow(
        parameters=tuple(flows),
        cuts=tuple(dict.fromkeys(flow.cut for flow in flows if flow.cut)),
        loss_has_graph=loss.requires_grad,
        num_frozen=len(frozen),
        num_frozen_adapters=len(adapters),
        flat=_first_flat(stuck, list(trainable), mode),
        optimizer=_held(optimizer or getattr(opened.trainer, "optimizer", None), trainable),
    )


def _held(optimizer: Any, trainable: dict[str, Tensor]) -> HeldParameters | None:
    if optimizer is None:
        return None
    if not hasattr(optimizer, "param_groups"):
        raise BadRequest(
            f"optimizer= is a {type(optimizer).__name__}",
            why="it is asked for its param_groups",
            fix="pass the torch optimizer that the run steps",
        )
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = tuple(name for name, p in trainable.items() if id(p) not in held)
    return HeldParameters(len(trainable) - len(missing), missing)


def _first_flat(stuck: set[str], names: list[str], mode: InfluenceMode) -> Flat | None:
    """The first call with derivative 0 that a value of a stuck parameter went through."""
    bits = reduce(or_, (1 << names.index(name) for name in stuck), 0)
    return next((flat for flat in mode.flat if flat.parameters & bits), None)


def _backward(loss: Tensor, mode: InfluenceMode) -> None:
    mode.in_backward = True
    try:
        # Given the tensor itself, torch would switch the mode off until backward is over.
        torch.autograd.backward(get_gradient_edge(loss))
    except RuntimeError as error:
        # A reentrant checkpoint says this of a block that is cut inside; the report says where.
        if "this checkpoint() is not necessary" not in str(error):
            raise


def _largest_grads(parameters: dict[str, Tensor]) -> dict[str, float | None]:
    """The largest magnitude of each gradient, None without one; one transfer in all.

    Not the norm: squares of small gradients would underflow, and 0 has to mean zero.
    """
    grads = {name: p.grad for name, p in parameters.items() if p.grad is not None and p.numel()}
    dense = [g.coalesce().values() if g.is_sparse else g for g in grads.values()]
    largest = [g.abs().max().to(dense[0].device, torch.float32) for g in dense]
    known = dict(zip(grads, torch.stack(largest).tolist() if largest else (), strict=True))
    return {name: known.get(name) for name in parameters}


def _judge(
    model: nn.Module,
    largest: dict[str, float | None],
    stuck: set[str],
    mode: InfluenceMode,
    loss: Tensor,
) -> list[ParameterFlow]:
    history = mode.history(loss)
    candidates = [
        crossing
        for crossing in mode.crossings
        if crossing.in_recompute or history.crossings >> crossing.number & 1
    ]
    depends = history.parameters
    if not depends and not any(v is not None for v in largest.values()):  # made from a number
        candidates = [c for c in mode.crossings if c.cause in (Cause.ESCAPE, Cause.DETACH)]
        depends = reduce(or_, (crossing.lost for crossing in candidates), 0)
    flows = {}
    for number, (name, value) in enumerate(largest.items()):
        if value is not None:
            flows[name] = _judge_value(value, name in stuck, _lora_partner(model, name))
        elif depends >> number & 1:
            flows[name] = Flow.CUT
        else:
            flows[name] = Flow.NO_EFFECT if mode.used >> number & 1 else Flow.UNUSED
    bits = {name: 1 << number for number, name in enumerate(largest)}
    cuts = _find_cuts({n: bits[n] for n, flow in flows.items() if flow is Flow.CUT}, candidates)
    return [ParameterFlow(n, flow, largest[n], cuts.get(n)) for n, flow in flows.items()]


def _suspects(model: nn.Module, largest: dict[str, float | None]) -> set[str]:
    """Parameters whose gradient is exactly 0, except LoRA matrices whose partner will move."""
    zero = {name for name, value in largest.items() if value == 0}

    def waits(name: str) -> bool:
        partner = _lora_name(name)
        return bool(largest.get(partner)) and not model.get_parameter(partner).any()

    return {name for name in zero if not waits(name)}


def _judge_value(largest: float, is_stuck: bool, partner: Tensor | None) -> Flow:
    if not math.isfinite(largest):
        return Flow.NOT_FINITE
    if largest != 0:
        return Flow.RECEIVED
    if is_stuck:
        return Flow.ZERO
    is_waiting = partner is not None and not partner.any()
    return Flow.WAITING if is_waiting else Flow.STARTING


def _lora_name(name: str) -> str | None:
    """The other factor of the product that `name` is part of."""
    halves = (name.replace(half, other) for half, other in LORA_HALVES if half in name)
    return next(halves, None)


def _lora_partner(model: nn.Module, name: str) -> Tensor | None:
    """The other LoRA matrix, whose zeros make this gradient 0."""
    partner = _lora_name(name)
    return None if partner is None else model.get_parameter(partner)


def _find_cuts(starved: dict[str, int], candidates: list[Crossing]) -> dict[str, Cut]:
    """The cut that explains each starved parameter; cuts that differ only by layer become one."""
    groups = defaultdict(dict)
    for name, bit in starved.items():
        crossing = _explain(bit, candidates)
        groups[crossing.cause, same_layers(crossing.module)][name] = crossing
    cuts = {}
    for members in groups.values():
        found = sorted(set(members.values()), key=lambda crossing: crossing.number)
        cut = Cut(
            cause=found[0].cause,
            modules=tuple(dict.fromkeys(crossing.module for crossing in found)),
            operation=found[0].operation,
            place=str(found[0].place),
            num_parameters=len(members),
        )
        cuts |= dict.fromkeys(members, cut)
    return cuts


def _explain(bit: int, candidates: list[Crossing]) -> Crossing:
    """The first crossing at which this parameter's gradient is lost; doubtful ones come last."""
    losing = [crossing for crossing in candidates if crossing.lost & bit]
    return min(losing, key=lambda c: (c.cause in DOUBTFUL, c.number), default=UNSEEN)
