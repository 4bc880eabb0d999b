"""Which torch operations an answer runs, whatever name it called them by."""

from collections.abc import Callable

from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode


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


def operations(function: Callable, *args: object) -> set[str]:
    """Names of the functions and kernels that `function(*args)` runs, without underscores around.

    >>> import torch
    >>> sorted(operations(torch.special.logsumexp, torch.ones(2), 0))
    ['logsumexp']
    """
    functions, kernels = _Functions(), _Kernels()
    with kernels, functions:
        function(*args)
    return functions.names | kernels.names


def uses(function: Callable, *args: object, banned: tuple[str, ...]) -> str | None:
    """A sentence when `function(*args)` runs one of the `banned` operations, else None."""
    found = sorted(operations(function, *args) & set(banned))
    return f"it runs {', '.join(found)}" if found else None
