"""One rank's watch over a run of several processes. It adds no collective and never raises.

Before each optimizer step it reads, in one transfer, this rank's losses, the sizes of its own
gradient, and the gradient after the sum. At the first that is not finite it writes a record; if
the fault is its own, also a dump of the step. The weights are still those of the step then.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import optimizer as optimizers

from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.nonfinite.values import all_finite, measure
from course_utils.diagnostics.ranks.batches import odd_rows
from course_utils.diagnostics.ranks.folder import Record
from course_utils.diagnostics.ranks.own_gradient import OwnGradient, local
from course_utils.diagnostics.ranks.passes import (
    KeptPass,
    RankNumbers,
    all_are_finite,
    bad_weights,
    keep,
    write_dump,
)
from course_utils.diagnostics.ranks.report import RanksReport, read_ranks
from course_utils.errors import BadRequest

# torch.amp.GradScaler starts at 2**16 and halves: this many bad steps in a row are its search.
SEARCH_STEPS = 16
MAX_PASSES = 512  # kept of one step: more micro-batches than anybody accumulates


def watch_ranks(
    target: Any,
    loss_of: Callable[..., Any] | None = None,
    *,
    folder: str | Path = "watched-ranks",
    scaler: Any = None,
    then: Callable[[RanksReport], object] = print,
) -> "RankWatch":
    """Watch this rank of a run under torchrun or `accelerate launch`; use it on every rank.

    Args:
        target: a Trainer, or the model that a loop of your own trains, as wrapped by DDP or
            `fully_shard`.
        loss_of: for a loop of your own: the function that gives the loss. Call the watch in its
            place. Default: `model(**batch)`.
        folder: where each rank writes its record and its dump. `read_ranks(folder)` reads it,
            while the run goes on or after it. On several machines it has to be a shared folder.
        scaler: the gradient scaler of such a loop, if it has one. A Trainer's is found.
        then: is called once, on a rank that found something, with what was known then.

    Raises:
        BadRequest: the target is neither; only on entry, never during the run.

    Numerics:
        With a scaler, up to 16 steps in a row whose gradient overflows are its search for a
        scale, as long as the loss is finite.

    The weights after 50 steps are the same bits with and without it.
    """
    is_trainer = hasattr(target, "compute_loss") and hasattr(target, "model")
    if not is_trainer and not isinstance(target, nn.Module):
        raise BadRequest(
            f"{type(target).__name__} is neither a Trainer nor a model",
            why="a rank's gradient is looked at where DDP or FSDP2 sums it, on the model",
            fix="pass the Trainer, or the wrapped model with the function of the batch as loss_of=",
        )
    return RankWatch(target if is_trainer else None, target, loss_of, Path(folder), scaler, then)


class RankWatch:
    """The result of `watch_ranks`. In your own loop, call it with a batch for the loss."""

    def __init__(self, trainer, target, loss_of, folder, scaler, then) -> None:
        self.trainer, self.folder, self._then = trainer, folder, then
        self._target = target
        self._loss_of = trainer.compute_loss if trainer is not None else loss_of or self._call
        self._scaler = trainer.accelerator.scaler if trainer is not None else scaler
        self._own = OwnGradient()
        self._kept: list[KeptPass] = []
        self._num_overflows = 0
        self._is_on = False
        world = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.record = Record(
            rank=torch.distributed.get_rank() if world else int(os.environ.get("RANK", 0)),
            world=torch.distributed.get_world_size()
            if world
            else int(os.environ.get("WORLD_SIZE", 1)),
        )

    def __repr__(self) -> str:
        r = self.record
        return f"<rank {r.rank} of {r.world}: {r.what or 'nothing found'}, {r.num_steps} steps>"

    @property
    def report(self) -> RanksReport:
        """The records that all ranks have written so far."""
        return read_ranks(self.folder)

    def _call(self, batch: Any) -> Any:
        return self._target(**batch) if isinstance(batch, Mapping) else self._target(batch)

    def __call__(self, *args, **kwargs) -> Any:
        """Compute the loss as the watched function does, and keep what a replay needs."""
        if not self._is_on or not torch.is_grad_enabled():
            return self._loss_of(*args, **kwargs)
        one = self._safely(self._keep, args, kwargs)
        output = self._loss_of(*args, **kwargs)
        if one is not None:
            self._safely(self._note, one, output)
        return output

    def _safely(self, function: Callable, *args) -> Any:
        """Call `function`; if it raises, the run goes on unwatched and the record says so."""
        try:
            return function(*args)
        except Exception as error:
            self._is_on, self._kept = False, []
            self.record.problem = f"{function.__name__}: {type(error).__name__}: {error}"
            try:
                self.record.write(self.folder)
            except Exception:
                print(f"watch_ranks stopped: {self.record.problem}", file=sys.stderr)
            return None

    def _keep(self, args: tuple, kwargs: dict) -> KeptPass:
        models = [a for a in (*args, *kwargs.values()) if isinstance(a, nn.Module)]
        model = models[0] if models else self._target
        self._own.attach(model)
        return keep(model, args, kwargs)

    def _note(self, one: KeptPass, output: Any) -> None:
        loss = loss_in(output)
        if loss is not None and loss.requires_grad:
            one.loss = loss.detach()
            self._kept = [*self._kept[-MAX_PASSES:], one]
            self.record.num_losses += 1

    def _before_step(self, optimizer: torch.optim.Optimizer, *_args) -> None:
        if self._is_on and self._kept:
            self._safely(self._look, optimizer)

    def _look(self, optimizer: torch.optim.Optimizer) -> None:
        ours = set(self._kept[-1].model.parameters())
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if not any(p in ours for p in params):
            self.record.num_foreign += 1
            self._kept = self._kept[-1:]  # or a run whose optimizer is another's would fill memory
            return
        gradients = [local(p.grad) for p in params if p.grad is not None]
        gradients = [g for g in gradients if g.numel()]
        seen = self._read(gradients)
        self.record.num_steps += 1
        is_fine = all_are_finite([*seen.losses, *seen.own])
        if is_fine and (all_are_finite(seen.summed) or all(map(all_finite, gradients))):
            self._num_overflows = 0
        elif not self._is_search(seen):
            self._found(seen)
        self._kept = []

    def _read(self, gradients: list[Tensor]) -> RankNumbers:
        """Losses, own gradient and summed gradient, in one transfer."""
        losses, own = [one.loss.reshape(()) for one in self._kept], self._own.take()
        parts = [torch.stack([t.float() for t in part]) for part in (losses, own) if part]
        parts += [measure(gradients)] if gradients else []
        numbers = torch.cat([part.to(parts[0].device) for part in parts]).tolist()
        first, second = len(losses), len(losses) + len(own)
        return RankNumbers(numbers[:first], numbers[first:second], numbers[second:])

    def _is_search(self, seen: RankNumbers) -> bool:
        """Whether a gradient scaler may be looking for its scale."""
        self._num_overflows += 1
        uses_scaler = self._scaler is not None and self._scaler.is_enabled()
        return uses_scaler and all_are_finite(seen.losses) and self._num_overflows <= SEARCH_STEPS

    def _found(self, seen: RankNumbers) -> None:
        record = self.record
        bad_loss = next((i for i, x in enumerate(seen.losses, 1) if not math.isfinite(x)), None)
        is_own = bad_loss is not None or not all_are_finite(seen.own)
        record.losses = seen.losses
        record.step, record.time = self._step, time.time()
        if is_own:
            record.bad_weights = bad_weights(self._kept[-1].model)
            record.micro_batch = bad_loss or (1 if len(self._kept) == 1 else None)
            record.odd = odd_rows(self._kept[(bad_loss or len(self._kept)) - 1].args)
        own = "weights before the step" if record.bad_weights else "gradient"
        own = own if bad_loss is None or record.bad_weights else "loss"
        record.what = own if is_own else "another rank"
        record.how = self._own.how
        record.write(self.folder)  # first: the dump may take long, or fail
        if is_own or self._own.is_sharded:
            write_dump(self._kept, record, self.folder, is_sharded=self._own.is_sharded)
        self._is_on = False
        self._then(self.report)

    @property
    def _step(self) -> int:
        if self.trainer is not None:
            return self.trainer.state.global_step + 1
        return self.record.num_steps

    def __enter__(self) -> "RankWatch":
        self._undo = ExitStack()
        self._is_on = True
        self._safely(self._start)
        return self

    def _start(self) -> None:
        self.record.write(self.folder)
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        self._undo.callback(before.remove)
        self._undo.callback(self._own.detach)
        if self.trainer is not None:
            self._replace(self.trainer, "compute_loss", self)
        if self._scaler is not None:  # on an inf it skips the optimizer, and with it the hook
            step = self._scaler.step

            def look_and_step(optimizer, *args, **kwargs):
                self._before_step(optimizer)
                return step(optimizer, *args, **kwargs)

            self._replace(self._scaler, "step", look_and_step)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        had, previous = name in vars(owner), getattr(owner, name)
        setattr(owner, name, value)
        undo = (setattr, owner, name, previous) if had else (delattr, owner, name)
        self._undo.callback(*undo)

    def __exit__(self, kind: type | None, *_exc) -> None:
        self._safely(self._undo.close)
        self._is_on, self._kept = False, []
        self.record.state = "ended" if kind is None else f"raised {kind.__name__}"
        self.record.how = self._own.how
        self.record.problem = self.record.problem or self._own.problem
        self._safely(self.record.write, self.folder)
