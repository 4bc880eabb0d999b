"""What is private to torch, or is missing in some version of it.

All of it was seen in torch 2.13, and no other version was run; the fallbacks are tested by hiding
names. Without the two modules in the imports below nothing can be traced.
"""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.nn.utils import clip_grad
from torch.optim.lr_scheduler import LRScheduler
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves, tree_map_only

from course_utils.diagnostics.libraries.versions import installed, unreadable

__all__ = [
    "OpOverload",
    "TorchDispatchMode",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_map_only",
]
CLIPS = "_clip_grads_with_norm_"  # in which every clip_grad_norm_ ends, also accelerate's
HOOKS = [name for name in vars(nn.Module()) if "_hooks" in name]  # dicts that a module keeps
COMPILED = "_orig_mod"  # what torch.compile calls the module that it wraps


# --- Where a call belongs. Called once per operation, so looked up once.


def _or_unreadable(of: Any, name: str, what: str) -> Callable:
    """The private function `name`, or one that says what is not known without it."""

    def missing(*_args: Any) -> Any:
        raise unreadable("torch", what, f"it has no {name}")

    return getattr(of, name, missing)


_UNPLACED = "no operation can be placed in forward or backward"
running_node = _or_unreadable(torch._C, "_current_autograd_node", _UNPLACED)
next_sequence_number = _or_unreadable(torch.autograd, "_get_sequence_nr", _UNPLACED)


def sequence_number(node: Any) -> int:
    """The number that the forward call had that made this node; -1, as none has, if not known."""
    number = getattr(node, "_sequence_nr", None)
    return -1 if number is None else number()


def backward_code() -> Any:
    """The code object of the function that runs backward; None if there is none in Python."""
    return getattr(getattr(torch.autograd.graph, "_engine_run_backward", None), "__code__", None)


def schema_of(func: OpOverload) -> Any:
    """What an operation reads and writes."""
    return func._schema


# --- Tensors


def values_of(tensor: Tensor) -> Tensor:
    """The values of a sparse tensor, also of one that is not coalesced."""
    values = getattr(tensor, "_values", None)
    return tensor.coalesce().values() if values is None else values()


def address_of(storage: torch.UntypedStorage) -> int:
    """What identifies a storage as long as it exists."""
    address = getattr(storage, "_cdata", None)
    return storage.data_ptr() if address is None else address


def writes_to(tensor: Tensor) -> int:
    """A count that rises whenever the tensor is written to; always 0 if torch keeps none."""
    return getattr(tensor, "_version", 0)


def norms_of(tensors: list[Tensor], dtype: torch.dtype | None) -> list[Tensor]:
    """The L2 norm of each, computed in `dtype`."""
    at_once = getattr(torch, "_foreach_norm", None)
    if at_once is not None:
        return at_once(tensors, 2, dtype=dtype)
    return [torch.linalg.vector_norm(tensor, dtype=dtype) for tensor in tensors]


def has_accumulation_hooks(parameter: Tensor) -> bool:
    return bool(getattr(parameter, "_post_accumulate_grad_hooks", None))


# --- Modules, compilation, devices


def forward_hooks(module: nn.Module) -> dict:
    return getattr(module, "_forward_hooks", {})


def dropouts() -> type | tuple[type, ...]:
    """The classes of dropout layers, whose probability is `p`."""
    known = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
    return getattr(nn.modules.dropout, "_DropoutNd", known)


def batch_norms() -> type | tuple[type, ...]:
    """The classes of batch norms, which compute something else in training mode."""
    known = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    return getattr(nn.modules.batchnorm, "_BatchNorm", known)


def without_compile(module: Any) -> Any:
    """The module that torch.compile wraps; a module of another kind as it is."""
    return getattr(module, COMPILED, module)


def is_compiled(module: nn.Module) -> bool:
    return hasattr(module, COMPILED) or getattr(module, "_compiled_call_impl", None) is not None


@contextmanager
def run_eagerly() -> Iterator[None]:
    """In the block, compiled code runs eagerly; before torch 2.6 it runs compiled."""
    if "torch._dynamo" not in sys.modules:  # its import is slow, and nothing is compiled
        yield
        return
    stance = getattr(torch.compiler, "set_stance", None)
    with nullcontext() if stance is None else stance("force_eager"), warnings.catch_warnings():
        # The tracer's hooks on modules fire for the wrapper as well; its name is the model's own.
        warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global")
        yield


def device_types() -> list[str]:
    """The kinds of devices that autocast may be on for."""
    of_any = getattr(torch, "accelerator", None)  # before torch 2.6 there is none
    if of_any is None:
        return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    found = of_any.current_accelerator()
    return ["cpu"] if found is None else ["cpu", found.type]


# --- Schedules, clipping, scaling, sharding


def is_scheduled(optimizer: Any) -> bool:
    """Whether a schedule was made for this optimizer: torch marks its step then."""
    return hasattr(getattr(optimizer, "step", None), "_wrapped_by_lr_sched")


def schedules_of(optimizer: Any) -> list[LRScheduler]:
    """The schedules that hold this optimizer, as long as anybody keeps them."""
    owners = gc.get_referrers(optimizer)
    found = [one for one in owners if isinstance(one, LRScheduler)]
    names = [one for one in owners if isinstance(one, dict) and one.get("optimizer") is optimizer]
    for of in names:  # the attributes of an object, in Pythons that keep them in a dict
        found += [one for one in gc.get_referrers(of) if isinstance(one, LRScheduler)]
    return [one for one in found if getattr(one, "optimizer", None) is optimizer]


@contextmanager
def hearing_clips(heard: Callable[[float, Tensor], None]) -> Iterator[None]:
    """In the block, `heard` gets max_norm and total norm of each clipping, if torch shows it."""
    home, name = clip_grad, CLIPS  # at the interpreter's end the module's own names are gone
    clip = getattr(home, name, None)
    if clip is None:
        yield
        return

    def seen(parameters: Any, max_norm: float, total_norm: Tensor, *args: Any, **kw: Any) -> Any:
        heard(max_norm, total_norm)
        return clip(parameters, max_norm, total_norm, *args, **kw)

    setattr(home, name, seen)
    try:
        yield
    finally:
        setattr(home, name, clip)


def why_no_clips() -> str:
    """Why the norms that clipping measured are not seen; "" where they are."""
    return "" if hasattr(clip_grad, CLIPS) else f"{installed('torch')} does not show what it clips"


def steps_since_growth(scaler: Any) -> int:
    """Steps since a GradScaler's factor last changed; 0 where its state does not say."""
    return scaler.state_dict().get("_growth_tracker", 0)


def look_at_reduce_scatter(module: nn.Module, wrap: Callable[[Any], Any]) -> None:
    """Put `wrap` around the reduce-scatter of each parameter group of an FSDP2 module.

    Raises:
        Unreadable: this torch keeps them in another place.
    """
    state = getattr(module, "_get_fsdp_state", lambda: None)()
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None or not all(hasattr(group, "_reduce_scatter_comm") for group in groups):
        what = "a rank's own gradient is not seen under FSDP2"
        raise unreadable("torch", what, "its parameter groups are in another place")
    for group in groups:
        group._reduce_scatter_comm = wrap(group._reduce_scatter_comm)


# --- Which worker of a DataLoader reads.


@contextmanager
def as_worker(number: int, of: int, dataset: Any) -> Iterator[None]:
    """`torch.utils.data.get_worker_info` answers as in worker `number` of `of`.

    Raises:
        Unreadable: this torch keeps it elsewhere.
    """
    try:
        from torch.utils.data._utils import worker as workers

        before, info = workers._worker_info, workers.WorkerInfo
    except (ImportError, AttributeError) as error:
        raise unreadable(
            "torch", "rows by worker", "it keeps the worker's number elsewhere"
        ) from error
    workers._worker_info = info(id=number, num_workers=of, seed=number, dataset=dataset)
    try:
        yield
    finally:
        workers._worker_info = before
