"""Values on the judge's side: encodes arguments for a worker, decodes its results."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from course_utils.grading.judge.values import Decoder, Encoder, int_of, text_of
from course_utils.grading.judge.wire import BadMessage


class SentArguments(Encoder):
    """Encodes the judge's arguments; tensors and modules are remembered by number."""

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


class Results(Decoder):
    """Decodes the results of a call, with its tensors in the judge's graph."""

    def __init__(self, tensors: list, worker, known: list, modules: list, graph) -> None:
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

    def __init__(self, worker, data: dict, decoder: Decoder) -> None:
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
