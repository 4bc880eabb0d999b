"""The judge's side of a student's function: it looks like one, and runs elsewhere.

Criteria stay as they are: values, gradients and changed arguments come back over the wire. What
comes back is checked; none of the student's code runs here.
"""

import builtins
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

from course_utils.contained import AnswerEnded
from course_utils.grading.judge import mirror
from course_utils.grading.judge.values import Decoder, Encoder, int_of, text_of
from course_utils.grading.judge.wire import BadMessage, Gone, receive, send

MAX_CALLBACKS, MAX_DIMS = 20_000, 16
ENDED = "your code ended its process, or needed more memory or time than there is"


class Remote(torch.autograd.Function):
    """One call in the judge's graph; its backward pass asks the worker."""

    @staticmethod
    def forward(ctx, vjp, shapes, outputs, *inputs):
        ctx.set_materialize_grads(False)
        ctx.vjp = vjp
        ctx.save_for_backward(*(torch.empty(()).expand(shape) for shape in shapes))
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        return (None, None, None, *ctx.vjp(grads))


class _Arguments(Encoder):
    """What the judge hands over; tensors and modules are remembered by number."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Tensor] = []
        self.modules: list[nn.Module] = []
        self.callbacks: list[Callable] = []
        self.folders: list[str] = []

    def encode(self, value: object, depth: int = 0) -> object:
        if type(value) is str and _is_own_folder(value):
            return self._folder(value)
        return super().encode(value, depth)

    def tensor(self, value: Tensor) -> object:
        for at, known in enumerate(self.known):
            if known is value:
                return {"is": "argument", "at": at}
        self.known.append(value)
        grad = value.grad if value.is_leaf else None
        return {
            "is": "tensor",
            "at": self.add(value),
            "grad": value.requires_grad,
            "param": isinstance(value, nn.Parameter),
            "of_grad": None if grad is None else self.add(grad),
        }

    def other(self, value: object) -> object:
        if isinstance(value, nn.Module):
            if not any(value is module for module in self.modules):
                self.modules.append(value)
            at = next(n for n, module in enumerate(self.modules) if module is value)
            return {"is": "module", "at": at}
        if callable(value):
            self.callbacks.append(value)
            return {"is": "callback", "id": len(self.callbacks) - 1}
        return super().other(value)

    def _folder(self, folder: str) -> dict:
        self.folders.append(folder)
        files = {path.name: self.add(_bytes(path)) for path in sorted(Path(folder).iterdir())}
        return {"is": "folder", "name": folder, "files": files}


def _is_own_folder(text: str) -> bool:
    return text.startswith(tempfile.gettempdir()) and os.path.isdir(text)


def _bytes(path: Path) -> Tensor:
    data = path.read_bytes()
    return torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]


class _Results(Decoder):
    """What a call gave back, with its tensors in the judge's graph."""

    def __init__(self, tensors: list, worker: "Worker", known: list, modules: list, graph) -> None:
        super().__init__(tensors)
        self._worker, self._known, self._modules = worker, known, modules
        self._graph = graph

    def special(self, kind: str, data: dict) -> object:
        if kind == "argument":
            return self._known[int_of(data, "at", len(self._known))]
        if kind == "alias":
            known = self._known[int_of(data, "at", len(self._known))]
            return known.detach().view_as(known)
        if kind == "module":
            return self._modules[int_of(data, "at", len(self._modules))]
        if kind == "tensor":
            return self._tensor_of(data)
        if kind == "function":
            return self._worker.function(int_of(data, "id", 10**6), text_of(data, "name")[:100])
        if kind == "new module":
            return RemoteModule(self._worker, data, self)
        return super().special(kind, data)

    def _tensor_of(self, data: dict) -> Tensor:
        value = self.tensor(data.get("at"))
        if data.get("out") is not None:
            return self._graph[int_of(data, "out", len(self._graph))]
        if data.get("param") is True and value.is_floating_point():
            return nn.Parameter(value, requires_grad=data.get("grad") is True)
        if data.get("grad") is True and value.is_floating_point():
            return value.clone().requires_grad_()
        return value


class RemoteModule(nn.Module):
    """A module that the student's function made: its weights are copies, its forward is remote."""

    def __init__(self, worker: "Worker", data: dict, decoder: Decoder) -> None:
        super().__init__()
        told = data.get("weights")
        if type(told) is not list or len(told) > 1000:
            raise BadMessage("no weights")
        self._weights = {}
        for one in told:
            if type(one) is not dict:
                raise BadMessage("no weight")
            tensor = decoder.tensor(one.get("at"))
            grad = one.get("grad") is True and tensor.is_floating_point()
            self._weights[text_of(one, "name")] = nn.Parameter(tensor, requires_grad=grad)
        self.training = data.get("training") is True
        self._call = worker.function(int_of(data, "id", 10**6), "forward")
        self._call.weights = list(self._weights.values())

    def named_parameters(self, *_: object, **__: object):
        return iter(self._weights.items())

    def parameters(self, recurse: bool = True):
        return iter(self._weights.values())

    def forward(self, *args: object, **kwargs: object) -> object:
        return self._call(*args, **kwargs)


class Worker:
    """The student's process, as the judge talks to it.

    Args:
        student: the socket that leads to it.
    """

    def __init__(self, student: socket.socket, identifiers: frozenset[str] = frozenset()) -> None:
        self._student = student
        self.identifiers = identifiers  # what the answer's own source names

    def run(self, cells: list[str]) -> list[dict | None]:
        """Run cells one after the other; the error of each, or None."""
        data, _ = self._ask({"do": "run", "cells": cells})
        errors = data.get("errors")
        if type(errors) is not list or len(errors) != len(cells):
            raise BadMessage("no errors")
        return [None if error is None else _checked_error(error) for error in errors]

    def answer(self, name: str) -> tuple[bool, object]:
        """Whether the notebook has the name, and what it stands for."""
        data, tensors = self._ask({"do": "answer", "name": name})
        if data.get("missing") is True:
            return False, None
        return True, _Results(tensors, self, [], [], ()).decode(data.get("value"))

    def function(self, number: int, name: str) -> Callable:
        """A function that calls the student's."""

        def remote(*args, **kwargs):
            watching = _watching()
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return self._call(number, args, kwargs, remote.weights, watching)

        remote.weights = []
        remote.__name__ = remote.__qualname__ = name
        return remote

    def _call(
        self, number: int, args: tuple, kwargs: dict, weights: list[Tensor], watching: list
    ) -> object:
        sent = _Arguments()
        request = {
            "do": "call",
            "function": number,
            "args": sent.encode(args),
            "kwargs": sent.encode(kwargs),
            "modes": _modes(),
            "watch": bool(watching),
        }
        request["not_leaves"] = [
            n for n, tensor in enumerate(sent.known) if tensor.requires_grad and not tensor.is_leaf
        ]
        of_modules = mirror.tensors_of(sent.modules)
        if sent.modules:
            request["modules"] = sent.add(mirror.pickled(sent.modules))
            request["saved"] = True
            request["grads"] = [
                [n, sent.add(tensor.grad)]
                for n, tensor in enumerate(of_modules)
                if tensor.is_leaf and tensor.grad is not None
            ]
        request["rng"] = sent.add(torch.get_rng_state())
        data, tensors = self._ask(request, sent.tensors, sent.callbacks)
        known = _Known([*sent.known, *of_modules, *weights], sent.modules)
        known.apply(data, tensors)
        _apply_surroundings(data, tensors, sent.folders)
        for mode in watching:
            mode.names.update(self.identifiers, map(str, _list_of(data, "operations")))
        if "error" in data:
            raise _exception(_checked_error(data["error"]))
        graph = self._graph(data, tensors, known)
        results = _Results(tensors, self, known.tensors, sent.modules, graph)
        if "args" in data:
            _refill((args, kwargs), results.decode(data["args"]))
        return results.decode(data.get("value"))

    def _graph(self, data: dict, tensors: list[Tensor], known: "_Known") -> tuple[Tensor, ...]:
        """The results that have a graph, in the judge's own."""
        numbers = _list_of(data, "outputs")
        if not numbers:
            return ()
        values = [_tensor_at(tensors, number) for number in numbers]
        shapes = [_shape(one) for one in _list_of(data, "saved")]
        inputs = [n for n, tensor in enumerate(known.tensors) if tensor.requires_grad]
        call = int_of(data, "call", 10**9)

        def vjp(grads: tuple) -> list[Tensor | None]:
            given = [grad for grad in grads if grad is not None]
            at = iter(range(len(given)))
            asked = [None if grad is None else next(at) for grad in grads]
            request = {"do": "vjp", "call": call, "grads": asked}
            data, tensors = self._ask(request, given)
            known.apply(data, tensors)
            if "error" in data:
                raise _exception(_checked_error(data["error"]))
            told = _list_of(data, "grads_of")
            if len(told) < len(known.tensors):
                raise BadMessage("too few gradients")
            return [None, *(known.gradient(n, told[n], tensors) for n in inputs)]

        anchor = torch.zeros((), requires_grad=True)  # where no leaf of the judge's leads there
        with torch.enable_grad():
            inputs_given = (known.tensors[n] for n in inputs)
            return Remote.apply(vjp, shapes, values, anchor, *inputs_given)

    def _ask(self, request: dict, tensors: list = (), callbacks: list = ()) -> tuple[dict, list]:
        """Send a request; answer the worker's own questions until the reply comes.

        Raises:
            AnswerEnded: the worker is gone.
            BaseException: whatever a callback raised that is no error of the student's.
        """
        stop, num_asked = None, 0
        try:
            send(self._student, request, tensors)
            while True:
                data, got = receive(self._student)
                if "callback" not in data:
                    break
                num_asked += 1
                if num_asked > MAX_CALLBACKS:
                    raise BadMessage("too many questions")
                answer, stop = self._call_back(data, got, callbacks, stop)
                send(self._student, answer)
        except Gone:
            raise AnswerEnded(ENDED) from None
        if stop is not None:
            raise stop
        printed = data.get("printed")
        if type(printed) is str and printed:
            print(printed.encode("utf-8", "replace").decode(), end="")
        return data, got

    def _call_back(self, data: dict, tensors: list, callbacks: list, stop) -> tuple[dict, object]:
        function = callbacks[int_of(data, "callback", len(callbacks))]
        args = Decoder(tensors).decode(data.get("args"))
        if stop is not None or type(args) is not tuple:
            return {"abort": True}, stop
        try:
            return {"value": Encoder().encode(function(*args))}, None
        except Exception as error:
            return {"error": {"type": type(error).__name__, "text": str(error)}}, None
        except BaseException as error:
            return {"abort": True}, error


class _Known:
    """The tensors and modules that both sides have, and what a call did to them."""

    def __init__(self, tensors: list[Tensor], modules: list[nn.Module]) -> None:
        self.tensors, self._modules = tensors, modules

    def apply(self, data: dict, tensors: list[Tensor]) -> None:
        """Do here what was done there."""
        try:
            self._apply(data, tensors)
        except (ValueError, TypeError, AttributeError, KeyError, RuntimeError) as error:
            raise BadMessage(f"changes that are none: {error}") from error

    def _apply(self, data: dict, tensors: list[Tensor]) -> None:
        for at, number in map(_pair, _list_of(data, "changed")):
            self._write(_tensor_at(self.tensors, at), _tensor_at(tensors, number))
        if "state" in data:
            try:
                self.tensors += mirror.apply(
                    self._modules,
                    self.tensors,
                    data["state"],
                    lambda number: _tensor_at(tensors, number),
                )
            except mirror.StructureChanged:
                return
        for at, number in map(_pair, _list_of(data, "grads")):
            owner = _tensor_at(self.tensors, at)
            grad = None if number is None else _tensor_at(tensors, number)
            if owner.is_leaf and (grad is None or grad.shape == owner.shape):
                owner.grad = grad

    @staticmethod
    def _write(mine: Tensor, told: Tensor) -> None:
        if mine.shape == told.shape and mine.dtype == told.dtype:
            mine.data.copy_(told)
        else:
            mine.data = told

    def gradient(self, at: int, number: object, tensors: list[Tensor]) -> Tensor | None:
        if number is None:
            return None
        grad, owner = _tensor_at(tensors, number), self.tensors[at]
        if grad.shape != owner.shape:
            raise BadMessage("a gradient of another shape")
        return grad.to(owner.dtype)


def _apply_surroundings(data: dict, tensors: list[Tensor], folders: list[str]) -> None:
    """Random numbers that were drawn, files that were written."""
    if "rng" in data:
        state = _tensor_at(tensors, data["rng"])
        if state.dtype != torch.uint8 or state.shape != torch.get_rng_state().shape:
            raise BadMessage("no random state")
        torch.set_rng_state(state)
    told = data.get("folders", {})
    for name in folders:
        files = told.get(name) if type(told) is dict else None
        if type(files) is not dict or len(files) > 100:
            raise BadMessage("no files")
        _write_files(Path(name), files, tensors)


def _write_files(folder: Path, files: dict, tensors: list[Tensor]) -> None:
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, number in files.items():
        if name in (".", "..") or "/" in name or "\0" in name or len(name) > 100:
            raise BadMessage("no file name")
        (folder / name).write_bytes(_tensor_at(tensors, number).numpy().tobytes())


def _refill(old: tuple, new: object) -> None:
    """Put what the student's function did to lists and dicts into the judge's."""
    if type(new) is not tuple or len(new) != 2:
        raise BadMessage("no arguments")
    (args, kwargs), (now_args, now_kwargs) = old, new
    if type(now_args) is not tuple or type(now_kwargs) is not dict:
        raise BadMessage("no arguments")
    pairs = [*zip(args, now_args, strict=False)]
    pairs += [(kwargs[key], now_kwargs[key]) for key in kwargs if key in now_kwargs]
    for mine, told in pairs:
        if type(mine) is list and type(told) is list:
            mine[:] = told
        elif type(mine) is dict and type(told) is dict:
            mine.clear()
            mine.update(told)


def _modes() -> dict:
    dtype = str(torch.get_autocast_dtype("cpu")).removeprefix("torch.")
    autocast = dtype if torch.is_autocast_enabled("cpu") else None
    return {"grad": torch.is_grad_enabled(), "autocast": autocast}


def _watching() -> list:
    """The modes that collect the names of what a function runs."""
    modes = (*_get_current_function_mode_stack(), *_get_current_dispatch_mode_stack())
    return [mode for mode in modes if isinstance(getattr(mode, "names", None), set)]


def _checked_error(data: object) -> dict:
    if type(data) is not dict:
        raise BadMessage("no error")
    args = data.get("args")
    plain = (str, int, float, bool, type(None))
    if type(args) is not list or len(args) > 10 or not all(type(a) in plain for a in args):
        args = None
    line = data.get("line") if type(data.get("line")) is int else 0
    return {
        "type": text_of(data, "type"),
        "text": text_of(data, "text"),
        "args": args,
        "line": line,
    }


def _exception(data: dict) -> BaseException:
    """An error of the same name and text; none of the check's own kinds."""
    kind = getattr(builtins, data["type"], None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        try:
            return kind(*(data["args"] if data["args"] is not None else [data["text"]]))
        except Exception:
            pass
    return type(data["type"].replace("\0", ""), (Exception,), {})(data["text"])


def _tensor_at(tensors: list[Tensor], number: object) -> Tensor:
    if type(number) is not int or not 0 <= number < len(tensors):
        raise BadMessage(f"a tensor {number!r:.50}")
    return tensors[number]


def _list_of(data: dict, key: str) -> list:
    value = data.get(key, [])
    if type(value) is not list:
        raise BadMessage(f"no list {key}")
    return value


def _pair(one: object) -> list:
    if type(one) is not list or len(one) != 2:
        raise BadMessage("no pair")
    return one


def _shape(one: object) -> tuple[int, ...]:
    if type(one) is not list or len(one) > MAX_DIMS:
        raise BadMessage("no shape")
    if not all(type(n) is int and 0 <= n < 2**31 for n in one):
        raise BadMessage("no shape")
    return tuple(one)
