"""A rank's own gradient, measured before it is summed with those of the other ranks.

Adds no collective and waits for nothing: one number a bucket stays on the device until it is taken.
The order in DDP: a parameter's hook, accumulation, bucket full, communication hook, all-reduce.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import GradBucket
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from course_utils.diagnostics.libraries.pytorch import look_at_reduce_scatter
from course_utils.errors import Unreadable

UNSEEN = "not seen: this model is neither DDP nor FSDP2"


class OwnGradient:
    """The largest magnitudes in this rank's gradient since they were last taken; nan stays nan.

    `how` says what is looked at. Under DDP the sizes are those of the buckets; where another
    communication hook is registered already, those of each parameter. Under FSDP2 they are those
    of each wrapped block, before the reduce-scatter.
    """

    def __init__(self) -> None:
        self.how = UNSEEN
        self.is_sharded = False
        self.problem = ""  # what could not be looked at
        self._is_on = True
        self._sizes: list[Tensor] = []
        self._seen: set[int] = set()
        self._handles: list[Any] = []

    def attach(self, root: nn.Module) -> None:
        """Look at every DDP or FSDP2 module in `root` from its next backward pass on."""
        if id(root) in self._seen:
            return
        self._seen.add(id(root))
        for module in root.modules():
            if isinstance(module, DistributedDataParallel):
                self._attach_ddp(module)
            elif hasattr(module, "set_custom_reduce_scatter"):  # torch.distributed.fsdp.FSDPModule
                self._attach_fsdp(module)

    def take(self) -> list[Tensor]:
        """The magnitudes since the last call: one number each, on the gradient's device."""
        taken, self._sizes = self._sizes, []
        return taken

    def detach(self) -> None:
        self._is_on = False  # DDP and FSDP2 have no way to take a hook off again
        for handle in self._handles:
            handle.remove()

    def look(self, gradient: Tensor) -> None:
        """Note its largest magnitude. Called from within backward, so it never raises."""
        if not self._is_on or not gradient.numel():
            return
        try:
            self._sizes.append(largest(gradient.detach()))
        except Exception as error:
            self._is_on = False
            self.problem = f"own gradient: {type(error).__name__}: {error}"

    def _attach_ddp(self, model: DistributedDataParallel) -> None:
        try:
            model.register_comm_hook(None, self._bucket)
            self.how = "each bucket, before the sum"
        except RuntimeError:  # only one can be registered, and Accelerate may have taken it
            for parameter in filter(lambda p: p.requires_grad, model.parameters()):
                self._handles.append(parameter.register_hook(self.look))
            self.how = "each parameter, before the sum (another communication hook is in use)"

    def _bucket(self, _state: Any, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        self.look(bucket.buffer())
        return allreduce_hook(None, bucket)  # as DDP itself does, bit for bit

    def _attach_fsdp(self, module: Any) -> None:
        self.is_sharded = True
        try:
            look_at_reduce_scatter(module, partial(_Looking, own=self))
        except Unreadable as error:
            self.problem = self.how = error.sentence
            return
        self.how = "each wrapped block, before the reduce-scatter"


class _Looking:
    """FSDP2's own reduce-scatter, with a look at its input."""

    def __init__(self, inner: Any, own: OwnGradient) -> None:
        self._inner, self._own = inner, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __call__(self, output_tensor: Tensor, input_tensor: Tensor, *args, **kwargs) -> Any:
        self._own.look(input_tensor)
        return self._inner(output_tensor, input_tensor, *args, **kwargs)


def largest(tensor: Tensor) -> Tensor:
    """The largest magnitude, nan if one is nan. The squares of an L2 norm would overflow."""
    return torch.linalg.vector_norm(tensor, float("inf")).float()


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a sharded tensor; an ordinary tensor as it is.

    Norms of a DTensor stay partial, and `.item()` then gives the local part as if it were all.
    """
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
