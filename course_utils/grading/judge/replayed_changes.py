"""Repeats a call's changes on the judge's side, and refuses those that no worker may make."""

import builtins
from pathlib import Path

import torch
from torch import Tensor, nn

from course_utils.grading.judge import mirrored_modules
from course_utils.grading.judge.values import text_of
from course_utils.grading.judge.wire import BadMessage

MAX_DIMS = 16


class SharedObjects:
    """The tensors and modules that both sides have, and the changes that a call made to them."""

    def __init__(self, tensors: list[Tensor], modules: list[nn.Module]) -> None:
        self.tensors, self._modules = tensors, modules

    def apply(self, data: dict, tensors: list[Tensor]) -> None:
        """Repeat here the changes that the call made there."""
        try:
            self._apply(data, tensors)
        except (ValueError, TypeError, AttributeError, KeyError, RuntimeError) as error:
            raise BadMessage(f"changes that are none: {error}") from error

    def _apply(self, data: dict, tensors: list[Tensor]) -> None:
        for at, number in map(pair_of, list_of(data, "changed")):
            self._write(tensor_at(self.tensors, at), tensor_at(tensors, number))
        if "state" in data:
            try:
                self.tensors += mirrored_modules.apply(
                    self._modules,
                    self.tensors,
                    data["state"],
                    lambda number: tensor_at(tensors, number),
                )
            except mirrored_modules.StructureChanged:
                return
        for at, number in map(pair_of, list_of(data, "grads")):
            owner = tensor_at(self.tensors, at)
            grad = None if number is None else tensor_at(tensors, number)
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
        grad, owner = tensor_at(tensors, number), self.tensors[at]
        if grad.shape != owner.shape:
            raise BadMessage("a gradient of another shape")
        return grad.to(owner.dtype)


def apply_surroundings(data: dict, tensors: list[Tensor], folders: list[str]) -> None:
    """Repeat changes of the surroundings: gradients off, drawn random numbers, written files."""
    if type(grad := data.get("grad")) is bool:
        torch.set_grad_enabled(grad)
    if "rng" in data:
        state = tensor_at(tensors, data["rng"])
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
        (folder / name).write_bytes(tensor_at(tensors, number).numpy().tobytes())


def refill(old: tuple, new: object) -> None:
    """Repeat the student function's changes of lists and dicts on the judge's."""
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


def checked_error(data: object) -> dict:
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


def exception_of(data: dict) -> BaseException:
    """An error of the same name and text, never one of the check's own kinds."""
    kind = getattr(builtins, data["type"], None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        try:
            return kind(*(data["args"] if data["args"] is not None else [data["text"]]))
        except Exception:
            pass
    return type(data["type"].replace("\0", ""), (Exception,), {})(data["text"])


def tensor_at(tensors: list[Tensor], number: object) -> Tensor:
    if type(number) is not int or not 0 <= number < len(tensors):
        raise BadMessage(f"a tensor {number!r:.50}")
    return tensors[number]


def list_of(data: dict, key: str) -> list:
    value = data.get(key, [])
    if type(value) is not list:
        raise BadMessage(f"no list {key}")
    return value


def pair_of(one: object) -> list:
    if type(one) is not list or len(one) != 2:
        raise BadMessage("no pair")
    return one


def shape_of(one: object) -> tuple[int, ...]:
    if type(one) is not list or len(one) > MAX_DIMS:
        raise BadMessage("no shape")
    if not all(type(n) is int and 0 <= n < 2**31 for n in one):
        raise BadMessage("no shape")
    return tuple(one)
