"""Records which torch operations an answer runs, under whatever name it calls them."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.checks.time_limit import take_interruption

THREAD = "a thread of its own"


class _Functions(TorchFunctionMode):
    """Collects the names of torch's own functions, as they are called from Python."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.add((resolve_name(func) or "").rpartition(".")[2])
        return func(*args, **(kwargs or {}))


class _Kernels(TorchDispatchMode):
    """Collects the names of the kernels that run, below autograd and every alias."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func._schema.name.rpartition("::")[2].strip("_"))
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def python_calls() -> Iterator[set[str]]:
    """Collects the names of torch's Python functions, and `THREAD` when a thread is started.

    The modes see neither torch's operations rewritten in Python nor what another thread runs.
    """
    names, profile = set(), sys.getprofile()

    def note(frame, event, _):
        if event == "call" and frame.f_globals.get("__name__", "").startswith("torch."):
            names.add(frame.f_code.co_name.strip("_"))
        elif event == "call" and frame.f_code is threading.Thread.start.__code__:
            names.add(THREAD)

    take_interruption()
    sys.setprofile(note)
    try:
        yield names
    finally:
        sys.setprofile(profile)


def operations(function: Callable, *args: object) -> set[str]:
    """Names of the functions and kernels that `function(*args)` runs, without outer underscores.

    >>> import torch
    >>> sorted(operations(torch.special.logsumexp, torch.ones(2), 0))
    ['logsumexp']
    """
    functions, kernels = _Functions(), _Kernels()
    with kernels, functions:
        function(*args)
    return functions.names | kernels.names


def uses(function: Callable, *args: object, banned: tuple[str, ...]) -> str | None:
    """A sentence when `function(*args)` runs a `banned` operation or starts a thread."""
    with python_calls() as called:
        names = operations(function, *args)
    found = sorted((names | called) & {*banned, THREAD})
    return f"it runs {', '.join(found)}" if found else None
