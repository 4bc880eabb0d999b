"""Values on the student's side: decodes the judge's arguments, encodes the results."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from course_utils.grading.judge.values import Decoder, Encoder


class Worker(Protocol):
    """The part of the worker that values need."""

    def keep(self, value: object) -> int: ...

    def callback(self, number: int) -> Callable: ...


class Arguments(Decoder):
    """Decodes the judge's values: tensors with their graph's kind, callbacks, modules, folders."""

    def __init__(self, tensors: list[Tensor], worker: Worker, modules: list) -> None:
        super().__init__(tensors)
        self._worker, self._modules = worker, modules
        self.known: list[Tensor] = []  # in the order of the judge
        self.folders: dict[str, Path] = {}
        self._leaves: dict[int, Tensor] = {}

    def special(self, kind: str, data: dict) -> object:
        if kind == "argument":
            return self.known[data["at"]]
        if kind == "tensor":
            return self._tensor_of(data)
        if kind == "module":
            return self._modules[data["at"]]
        if kind == "callback":
            return self._worker.callback(data["id"])
        if kind == "folder":
            return str(self._folder(data))
        return super().special(kind, data)

    def _tensor_of(self, data: dict) -> Tensor:
        value = self.tensor(data["at"]).clone()
        if data["param"]:
            value = torch.nn.Parameter(value, requires_grad=data["grad"])
        elif data["grad"]:
            value.requires_grad_()
        if data["of_grad"] is not None:
            value.grad = self.tensor(data["of_grad"]).clone()
        self.known.append(value)
        return value

    def _folder(self, data: dict) -> Path:
        folder = Path(tempfile.mkdtemp())
        self.folders[data["name"]] = folder
        for name, at in data["files"].items():
            (folder / name).write_bytes(self.tensor(at).numpy().tobytes())
        return folder


class Results(Encoder):
    """Encodes the student's values; functions and modules stay here and go by number."""

    def __init__(self, worker: Worker, known: list[Tensor] = (), modules: list = ()) -> None:
        super().__init__()
        self._worker, self._known, self._modules = worker, known, modules
        self.outputs: list[Tensor] = []  # those that have a graph
        self.numbers: list[int] = []  # of these

    def tensor(self, value: Tensor) -> object:
        if type(value) not in (Tensor, torch.nn.Parameter):
            return super().other(value)
        for at, known in enumerate(self._known):
            if value is known:
                return {"is": "argument", "at": at}
            same = value.numel() and value.data_ptr() == known.data_ptr()
            if same and not value.requires_grad and value.shape == known.shape:
                return {"is": "alias", "at": at}
        at, out = self.add(value), None
        if value.requires_grad and not value.is_leaf:
            out = len(self.outputs)
            self.outputs.append(value)
            self.numbers.append(at)
        return {
            "is": "tensor",
            "at": at,
            "grad": bool(value.requires_grad),
            "out": out,
            "param": isinstance(value, torch.nn.Parameter),
        }

    def other(self, value: object) -> object:
        if isinstance(value, torch.nn.Module):
            for at, module in enumerate(self._modules):
                if value is module:
                    return {"is": "module", "at": at}
            return self._module(value)
        if callable(value):
            name = str(getattr(value, "__name__", type(value).__name__))[:100]
            return {"is": "function", "id": self._worker.keep(value), "name": name}
        return super().other(value)

    def _module(self, value: torch.nn.Module) -> dict:
        """A module that the student made: its weights are sent, its forward stays here."""
        names = {name: weight for name, weight in value.named_parameters()}
        weights = [
            {"name": name, "at": self.add(weight), "grad": weight.requires_grad}
            for name, weight in names.items()
        ]
        number = self._worker.keep(OfModule(value, list(names.values())))
        return {
            "is": "new module",
            "id": number,
            "type": type(value).__name__,
            "training": value.training,
            "weights": weights,
        }


class OfModule:
    """A student's module as a function whose additional inputs are its weights."""

    def __init__(self, module: torch.nn.Module, weights: list[Tensor]) -> None:
        self.module, self.weights = module, weights

    def __call__(self, *args, **kwargs):
        return self.module(*args, **kwargs)


def folders(decoder: Arguments, encoder: Encoder) -> dict:
    return {
        name: {
            path.name: encoder.add(_bytes(path.read_bytes()))
            for path in sorted(folder.iterdir())
            if path.is_file()
        }
        for name, folder in decoder.folders.items()
    }


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]
