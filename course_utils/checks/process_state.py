"""Saves the process state that an answer could change, and restores it.

Each function is one kind of state. Nothing here judges an answer or stops it.
"""

import builtins
import contextlib
import gc
import logging
import math
import os
import random
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator

# Modules whose functions later cells would trip over if an answer left a patch there.
MODULES = (builtins, math, time, random)
PATCHABLE = (
    "torch",
    "torch.nn.functional",
    "torch.nn.utils",
    "torch.linalg",
    "torch.special",
    "torch.autograd",
    "torch.utils.checkpoint",
    "numpy",
)
# Classes that are looked at with every subclass that is loaded: layers, models, trainers.
FAMILIES = ("torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer", "torch.amp.GradScaler")
TRAINERS = ("transformers.trainer.Trainer",)
STOP_S = 0.2  # how long a thread that was left running is given to end


@contextlib.contextmanager
def random_states() -> Iterator[None]:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    state = random.getstate()
    numpy_state = numpy.random.get_state() if numpy else None
    try:
        with torch.random.fork_rng() if torch else contextlib.nullcontext():
            yield
    finally:
        random.setstate(state)
        if numpy:
            numpy.random.set_state(numpy_state)


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Environment, folder, import path, recursion limit, collector, logging, thread hook."""
    environment, folder, path = dict(os.environ), os.getcwd(), list(sys.path)
    depth, collecting, logs = sys.getrecursionlimit(), gc.isenabled(), logging.root.manager.disable
    hook = threading.excepthook
    threading.excepthook = lambda args: print(f"a thread ended with {args.exc_type.__name__}")
    try:
        yield
    finally:
        threading.excepthook = hook
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(folder)
        sys.path[:] = path
        sys.setrecursionlimit(depth)
        (gc.enable if collecting else gc.disable)()
        logging.disable(logs)


@contextlib.contextmanager
def signal_handlers() -> Iterator[None]:
    """The handlers of the signals that Python can set, if this thread may set them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in known.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@contextlib.contextmanager
def torch_modes() -> Iterator[None]:
    """Default dtype and device, grad mode, autocast, determinism, modes, hooks, print options."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    settings = [(read, write, read()) for read, write in _settings(torch)]
    tables = [(table, dict(table)) for table in _hook_tables(torch)]
    options = dict(vars(torch._tensor_str.PRINT_OPTS))
    try:
        with torch.enable_grad(), _function_modes(torch):
            yield
    finally:
        for read, write, before in settings:
            if read() != before:
                write(before)
        if (torch.tensor([1e-40]) * 1).item() == 0:
            torch.set_flush_denormal(False)
        vars(torch._tensor_str.PRINT_OPTS).update(options)
        for table, before in tables:
            if dict(table) != before:
                table.clear()
                table.update(before)


def _settings(torch) -> tuple:
    """Pairs of functions: one reads a setting, the other writes it."""
    from torch.utils import _device as device  # torch imports it with the first default device

    return (
        (torch.get_default_dtype, torch.set_default_dtype),
        (lambda: device.CURRENT_DEVICE, torch.set_default_device),
        (torch.get_num_threads, torch.set_num_threads),
        (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
        (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        (
            lambda: torch.is_autocast_enabled("cpu"),
            lambda enabled: torch.set_autocast_enabled("cpu", enabled),
        ),
        (
            lambda: torch.get_autocast_dtype("cpu"),
            lambda dtype: torch.set_autocast_dtype("cpu", dtype),
        ),
    )


def _hook_tables(torch) -> list:
    """The tables of hooks on all modules and all optimizers."""
    owners = (torch.nn.modules.module, sys.modules.get("torch.optim.optimizer"))
    values = [value for owner in owners if owner for value in vars(owner).values()]
    return [value for value in values if isinstance(value, OrderedDict)]


@contextlib.contextmanager
def _function_modes(torch) -> Iterator[None]:
    """Removes the torch-function modes that the block entered and never left."""
    depth = torch._C._len_torch_function_stack
    before = depth()
    try:
        yield
    finally:
        while depth() > before:
            torch._C._pop_torch_function_stack()


@contextlib.contextmanager
def attributes() -> Iterator[None]:
    """The functions of modules, and the methods of every layer, optimizer and trainer class."""
    owners = [*MODULES, *filter(None, map(_loaded, PATCHABLE)), *_classes()]
    before = [dict(vars(owner)) for owner in owners]
    try:
        yield
    finally:
        for owner, known in zip(owners, before, strict=True):
            _put_back(owner, known)


def _put_back(owner: object, known: dict) -> None:
    now = dict(vars(owner))
    if isinstance(owner, type):  # a module may have imported its own submodule
        for name in now.keys() - known.keys():
            with contextlib.suppress(AttributeError, TypeError):
                delattr(owner, name)
    for name, value in known.items():
        if now.get(name) is not value:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(owner, name, value)


def _classes() -> list[type]:
    roots = [cls for cls in map(_loaded, (*FAMILIES, *TRAINERS)) if isinstance(cls, type)]
    found: dict[type, None] = {}
    while roots:
        cls = roots.pop()
        if cls not in found:
            found[cls] = None
            roots += type.__subclasses__(cls)
    return list(found)


def _loaded(path: str) -> object | None:
    """The module or class at a dotted path, if its parent has been imported."""
    if path in sys.modules:
        return sys.modules[path]
    module, _, name = path.rpartition(".")
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


@contextlib.contextmanager
def threads(stop: type[BaseException]) -> Iterator[None]:
    """Ends the threads that an answer started and left running: raises `stop` in each of them.

    A library's own threads, such as a progress bar's, stay. A thread inside a long call into C
    ends when that call returns.
    """
    import ctypes

    before = set(threading.enumerate())
    try:
        yield
    finally:
        for thread in set(threading.enumerate()) - before:
            if _is_an_answers(thread):
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(thread.ident), ctypes.py_object(stop))
                thread.join(STOP_S)


def _is_an_answers(thread: threading.Thread) -> bool:
    code = getattr(getattr(thread, "_target", None), "__code__", None)
    code = code or getattr(getattr(thread, "function", None), "__code__", None)  # a Timer
    return (
        code is not None
        and "site-packages" not in code.co_filename
        and "lib/python" not in (code.co_filename)
    )
