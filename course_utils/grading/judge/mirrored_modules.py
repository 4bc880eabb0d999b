"""Mirrors a module in two processes: changes of the worker's copy are repeated on the judge's.

`describe` runs on the worker's side, before and after a call; `apply` on the judge's. Both go
through modules, parameters and buffers in the same order, so that numbers stand for objects.
"""

import contextlib
import io
import pickle
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from course_utils.grading.judge.wire import BadMessage

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
PLAIN = (bool, int, float, str, type(None))


def nothing(*_: object) -> None:
    """Replaces a hook that lives on the other side."""


def pickled(modules: list[nn.Module]) -> Tensor:
    """The modules as bytes, for the worker; hooks are replaced by `nothing`."""
    buffer = io.BytesIO()
    with _without_functions(modules):
        pickle.dump(modules, buffer)
    return as_tensor(buffer.getvalue())


def as_tensor(data: bytes) -> Tensor:
    """Bytes in the form in which they are sent."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def unpickled(data: Tensor) -> object:
    """The modules that the judge sent. Never used on a worker's bytes."""
    return pickle.loads(data.numpy().tobytes())


@contextlib.contextmanager
def _without_functions(modules: list[nn.Module]) -> Iterator[None]:
    kept = []
    for module in _parts(modules):
        for name in HOOKS:
            hooks = getattr(module, name)
            kept += [(hooks, key, hook) for key, hook in hooks.items()]
            hooks.update(dict.fromkeys(hooks, nothing))
    try:
        yield
    finally:
        for hooks, key, hook in kept:
            hooks[key] = hook


def tensors_of(modules: list[nn.Module]) -> list[Tensor]:
    """Every parameter and buffer once, in the same order on both sides."""
    found = {}
    for module in _parts(modules):
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                found[id(tensor)] = tensor
    return list(found.values())


def _parts(modules: list[nn.Module]) -> list[nn.Module]:
    return [part for module in modules for part in module.modules()]


def describe(modules: list[nn.Module], known: list[Tensor], add) -> dict:
    """The changeable state of `modules`, as plain data.

    Args:
        known: `tensors_of` before the call: these go by number, new ones with their values.
        add: sets a tensor aside for the message and returns its number.
    """
    numbers = {id(tensor): n for n, tensor in enumerate(known)}
    added: dict[int, dict] = {}

    def named(tensor: Tensor | None) -> object:
        if tensor is None or id(tensor) in numbers:
            return None if tensor is None else numbers[id(tensor)]
        if id(tensor) not in added:
            added[id(tensor)] = {"new": add(tensor), "grad": tensor.requires_grad}
        return added[id(tensor)]

    parts = []
    for part in _parts(modules):
        attributes = {k: v for k, v in vars(part).items() if type(v) in PLAIN}
        others = [k for k, v in vars(part).items() if type(v) not in PLAIN and k[0] != "_"]
        parts.append(
            {
                "class": type(part).__name__,
                "parameters": {k: named(v) for k, v in part._parameters.items()},
                "buffers": {k: named(v) for k, v in part._buffers.items()},
                "hooks": [len(getattr(part, name)) for name in HOOKS],
                "attributes": attributes,
                "others": sorted(others),
            }
        )
    state = [
        {"grad": tensor.requires_grad, "hooks": len(tensor._backward_hooks or ())}
        for tensor in known
    ]
    return {"parts": parts, "tensors": state}


def apply(modules: list[nn.Module], known: list[Tensor], data: dict, tensor_at) -> list[Tensor]:
    """Repeat on the judge's `modules` the changes in `data`; returns the new tensors.

    Args:
        tensor_at: the tensor of a number of the message.

    Raises:
        BadMessage: `data` is not what `describe` makes.
        StructureChanged: modules were added, removed or replaced by others.
    """
    parts, told = _parts(modules), _list(data, "parts")
    if [_text(one, "class") for one in told] != [type(part).__name__ for part in parts]:
        raise StructureChanged
    for tensor, state in zip(known, _list(data, "tensors"), strict=True):
        _apply_tensor_state(tensor, state)
    new: dict[int, Tensor] = {}
    for part, one in zip(parts, told, strict=True):
        _apply_tensors(part, one, known, new, tensor_at)
        _apply_hooks(part, _list(one, "hooks"))
        _apply_attributes(part, one)
    return list(new.values())


class StructureChanged(Exception):
    """The worker's model has gained or lost modules; the judge's stays as it was."""


def _apply_tensor_state(tensor: Tensor, state: object) -> None:
    if type(state) is not dict or type(state.get("grad")) is not bool:
        raise BadMessage("no state of a tensor")
    if tensor.is_leaf and tensor.requires_grad != state["grad"]:
        tensor.requires_grad_(state["grad"])
    wanted, hooks = state.get("hooks"), len(tensor._backward_hooks or ())
    if type(wanted) is int and hooks < wanted <= hooks + 3 and tensor.requires_grad:
        for _ in range(wanted - hooks):
            tensor.register_hook(nothing)


def _apply_tensors(part: nn.Module, one: dict, known: list, new: dict, tensor_at) -> None:
    for kind, make in (("parameters", nn.Parameter), ("buffers", lambda t, **_: t)):
        table, told = getattr(part, f"_{kind}"), one.get(kind)
        if type(told) is not dict or len(told) > 1000:
            raise BadMessage(f"no {kind}")
        for name in set(table) - set(told):
            del table[name]
        for name, value in told.items():
            found = _found(value, known, new, tensor_at, make)
            if name not in table or table[name] is not found:
                vars(part).pop(name, None)
                table[name] = found


def _found(value: object, known: list, new: dict, tensor_at, make) -> Tensor | None:
    if value is None:
        return None
    if type(value) is int and 0 <= value < len(known):
        return known[value]
    if type(value) is not dict:
        raise BadMessage("no tensor of a module")
    number, grad = value.get("new"), value.get("grad") is True
    if number not in new:
        tensor = tensor_at(number)
        grad = grad and tensor.is_floating_point()
        new[number] = make(tensor, requires_grad=grad)
    return new[number]


def _apply_hooks(part: nn.Module, counts: list) -> None:
    for name, count in zip(HOOKS, counts, strict=True):
        hooks = getattr(part, name)
        while type(count) is int and len(hooks) < count <= 100:
            hooks[_free_key(hooks)] = nothing
        while type(count) is int and len(hooks) > count >= 0:
            hooks.popitem()


def _free_key(hooks: dict) -> int:
    return -1 - len(hooks)


def _apply_attributes(part: nn.Module, one: dict) -> None:
    told, others = one.get("attributes"), _list(one, "others")
    if type(told) is not dict or len(told) > 1000:
        raise BadMessage("no attributes")
    for name, value in told.items():
        if type(value) in PLAIN and vars(part).get(name, part) != value:
            vars(part)[name] = value
    kept = {k for k, v in vars(part).items() if type(v) not in PLAIN and not k.startswith("_")}
    for name in others:
        if type(name) is str and name not in kept:
            vars(part)[name] = nothing


def _list(data: object, key: str) -> list:
    value = data.get(key) if type(data) is dict else None
    if type(value) is not list:
        raise BadMessage(f"no list {key}")
    return value


def _text(data: object, key: str) -> str:
    value = data.get(key) if type(data) is dict else None
    if type(value) is not str:
        raise BadMessage(f"no text {key}")
    return value
