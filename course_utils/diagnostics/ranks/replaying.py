"""Replays in one process a step that a rank dumped, down to the operation, line and row.

Leaves model and random numbers as they were.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.libraries.pytorch import tree_map_only
from course_utils.diagnostics.nonfinite import NonFiniteReport, trace_step
from course_utils.diagnostics.nonfinite.state import Surroundings
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.ranks.batches import odd_rows
from course_utils.diagnostics.ranks.folder import bare_name, frozen_sums, set_random_states
from course_utils.errors import BadRequest, Unsupported
from course_utils.shown.report import Report, Table


@dataclass(frozen=True)
class ReplayedStep(Report):
    """What `trace_step` says of a dumped step, and whether it was the same step."""

    rank: int
    step: int
    micro_batch: int
    finding: NonFiniteReport
    recorded: float  # the loss in the run
    loss: float  # the loss now
    odd: tuple[str, ...]  # rows of the batch that stand out
    doubts: tuple[str, ...]  # why this may be another step than the one of the run

    @property
    def is_same(self) -> bool:
        both_nan = math.isnan(self.recorded) and math.isnan(self.loss)
        return both_nan or self.recorded == self.loss

    @property
    def headline(self) -> str:
        where = f"Rank {self.rank}, step {self.step}, micro-batch {self.micro_batch}"
        same = "as in the run" if self.is_same else f"in the run it was {self.recorded:.6g}"
        return f"{where}: loss {self.loss:.6g}, {same}. {self.finding.headline}"

    def table(self) -> Table:
        found = self.finding.table()
        notes = [f"In the batch: {sentence}." for sentence in self.odd]
        notes += [f"In doubt: {doubt}." for doubt in self.doubts]
        return Table(found.columns, found.rows, notes=(*notes, *found.notes))

    @property
    def cause(self) -> str:
        return self.finding.cause

    @property
    def fix(self) -> str:
        return self.finding.fix

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "rank": self.rank,
            "step": self.step,
            "micro_batch": self.micro_batch,
            "is_same": self.is_same,
            "cause": self.cause,
            "fix": self.fix,
            "odd": list(self.odd),
            "doubts": list(self.doubts),
            "finding": self.finding.to_dict(),
        }


def replay_rank(
    dump: str | Path, target: Any, loss_of: Callable[..., Any] | None = None
) -> ReplayedStep:
    """Trace the step that a rank dumped, in one process.

    Args:
        dump: the file that the report of `read_ranks` names.
        target: the same Trainer, or the same model unwrapped, built anew as your script does.
        loss_of: for a model: the function that was watched.

    Raises:
        BadRequest: there is no such file, or the model has other weights than the run's.
        Unsupported: several processes, where a replay would wait for the others.
    """
    _check_alone()
    state = _load(Path(dump))
    model = target.model if hasattr(target, "compute_loss") else target
    with _as_in_the_run(model, state) as doubts:
        for number, one in enumerate(state["passes"], start=1):
            finding, loss = _trace(target, model, one, loss_of)
            if finding.found or number == len(state["passes"]):
                break
    doubts += _doubts(state, one)
    return ReplayedStep(
        rank=state["rank"],
        step=state["step"],
        micro_batch=number,
        finding=finding,
        recorded=one["loss"],
        loss=loss,
        odd=tuple(odd_rows(one["args"])),
        doubts=tuple(doubts),
    )


def _check_alone() -> None:
    if torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
        raise Unsupported(
            f"this run has {torch.distributed.get_world_size()} processes",
            why="the replay of one rank would wait for the others, or take their collectives",
            fix="start the script as one process: python train.py, without torchrun or accelerate",
        )


def _load(dump: Path) -> dict[str, Any]:
    if not dump.is_file():
        raise BadRequest(
            f"there is no dump {str(dump)!r}",
            why="a rank writes one when its own loss or gradient is not finite",
            fix="give the file that print(read_ranks(folder)) names",
        )
    state = torch.load(dump, weights_only=True, map_location="cpu")
    if state["is_sharded"]:
        parts = [_part(dump, state, rank) for rank in range(state["world"])]
        names = state["weights"]
        # FSDP2 shards dimension 0 in order, as torch.chunk does: some ranks may hold none.
        state["weights"] = {n: torch.cat([part["weights"][n] for part in parts]) for n in names}
    return state


def _part(dump: Path, state: dict[str, Any], rank: int) -> dict[str, Any]:
    file = dump.with_name(f"rank{rank}-step{state['step']}.pt")
    if not file.is_file():
        raise BadRequest(
            f"{file.name} is missing beside {dump.name}",
            why="under FSDP2 each rank holds a part of every weight, and a replay needs them all",
            fix="a rank whose part stayed finite kept none: clip gradients, which shows it to all, "
            "and let the run fail again",
        )
    return torch.load(file, weights_only=True, map_location="cpu")


@contextmanager
def _as_in_the_run(model: nn.Module, state: dict[str, Any]) -> Iterator[list[str]]:
    """In the block, trained weights are the run's; yields why the rest may differ."""
    named = {bare_name(name): p for name, p in model.named_parameters()}
    lacking = [
        n for n, w in state["weights"].items() if getattr(named.get(n), "shape", 0) != w.shape
    ]
    if lacking:
        raise BadRequest(
            f"the model has no weight {lacking[0]} of the run's shape, and {len(lacking) - 1} more",
            why="a replay needs the model that was trained",
            fix="build model, adapter and Trainer as the run did, and pass that",
        )
    ours = frozen_sums(model)
    changed = [n for n, total in state["frozen_sums"].items() if ours.get(n, total) != total]
    doubts = (
        [f"{len(changed)} frozen weights differ from the run's ({changed[0]})"] if changed else []
    )
    present = Surroundings.now([model])
    was_training = {module: module.training for module in model.modules()}
    kept = {name: named[name].detach().clone() for name in state["weights"]}
    try:
        _copy(named, state["weights"])
        model.train()
        yield doubts
    finally:
        _copy(named, kept)
        present.put_back()
        for module, training in was_training.items():
            module.training = training


@torch.no_grad()
def _copy(named: dict[str, Tensor], weights: dict[str, Tensor]) -> None:
    for name, values in weights.items():
        named[name].copy_(values)


def _trace(
    target: Any, model: nn.Module, one: dict, loss_of: Callable | None
) -> tuple[NonFiniteReport, float]:
    """Trace one micro-batch of the dump; also returns its loss, computed before."""
    device = next(model.parameters()).device
    is_single = len(one["args"]) == 1
    buffers = {bare_name(name): buffer for name, buffer in model.named_buffers()}

    def fresh() -> tuple[Any, dict]:
        """A new batch and the state at the pass's start: a loss may change its arguments."""
        set_random_states(one["random"])
        _copy(buffers, one["buffers"])
        args, kwargs = _to((one["args"], one["kwargs"]), device)
        return (args[0] if is_single else args), kwargs

    def run(batch: Any, kwargs: dict) -> Tensor:
        args = [batch] if is_single else batch
        with ExitStack() as stack:
            for kind, is_on, dtype, caches in one["autocast"]:
                context = torch.autocast(kind, getattr(torch, dtype), is_on, caches)
                stack.enter_context(context)
            if hasattr(target, "compute_loss"):
                _complete(target)
                return loss_in(target.compute_loss(model, *args, **kwargs))
            if loss_of is not None:
                return loss_in(loss_of(*args, **kwargs))
            return loss_in(model(**batch) if isinstance(batch, dict) else model(*args))

    with torch.no_grad():
        loss = float(run(*fresh()))
    batch, kwargs = fresh()
    return trace_step(model, batch, loss_of=lambda batch: run(batch, kwargs)), loss


def _complete(trainer: Any) -> None:
    if not hasattr(trainer, "current_gradient_accumulation_steps"):  # set by train() only
        trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps


def _to(value: Any, device: torch.device) -> Any:
    """A copy on the device, in new containers."""
    return tree_map_only(Tensor, lambda t: t.to(device, copy=True), value)


def _doubts(state: dict, one: dict) -> list[str]:
    found = [f"{name} could not be dumped" for name in state["left_out"]]
    found += ["the batch was changed in place during the step"] if one["was_changed"] else []
    if one["random"]["cuda"] and not torch.cuda.is_available():
        found.append("the run drew random numbers on CUDA, which this machine lacks")
    return found
