"""Fingerprints a value before a call, so that a change can be located. Changes nothing.

Bytes are compared, not version counters: writing through `.data` leaves those alone.
"""

import hashlib
from collections.abc import Iterator, Mapping

SCALARS = str, bytes, int, float, type(None)
Fingerprint = dict[str, object]  # from a place such as "weight `head.bias`" to what stood there


def fingerprint(value: object, name: str) -> Fingerprint:
    """Everything about `value` that a function could change, by its place.

    Tensors by bytes, dtype, shape, `requires_grad`, `.grad` and hooks; modules by weights, buffers,
    mode and hooks; lists and dicts by their items. Other objects are taken as they are.

    >>> before = fingerprint([1, 2], "values")
    >>> changed(before, fingerprint([1, 3], "values"))
    'values[1]'
    """
    return dict(_places(value, name))


def changed(before: Fingerprint, after: Fingerprint) -> str | None:
    """The first place that differs, None if there is none.

    >>> changed(fingerprint([1, 2], "ids"), fingerprint([1], "ids"))
    'the length of ids'
    """
    for place in [*before, *after]:
        one, other = before.get(place), after.get(place)
        if one != other:
            both = isinstance(one, _Scalars) and isinstance(other, _Scalars)
            return _where(place, one, other) if both else place
    return None


def _where(place: str, one: "_Scalars", other: "_Scalars") -> str:
    if len(one) != len(other):
        return f"the length of {place}"
    pairs = enumerate(zip(one, other, strict=True))
    return f"{place}[{next(number for number, (was, now) in pairs if was != now)}]"


class _Scalars(tuple):
    """The items of a list that holds scalars only: ids by the thousand, compared in one go."""


def _places(value: object, name: str) -> Iterator[tuple[str, object]]:
    if type(value).__name__ == "Todo" or isinstance(value, SCALARS):
        yield name, value if value == value else "nan"
    elif isinstance(value, Mapping):
        yield f"the keys of {name}", list(value)
        for key, item in value.items():
            yield from _places(item, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)) and all(type(item) in SCALARS for item in value):
        yield name, _Scalars(item if item == item else "nan" for item in value)
    elif isinstance(value, (list, tuple)):
        yield f"the length of {name}", len(value)
        for number, item in enumerate(value):
            yield from _places(item, f"{name}[{number}]")
    elif hasattr(value, "named_parameters"):
        yield from _module(value, name)
    elif hasattr(value, "untyped_storage"):
        yield from _tensor(value, name)


def _module(module, name: str) -> Iterator[tuple[str, object]]:
    for kind, tensors in (
        ("weight", module.named_parameters()),
        ("buffer", module.named_buffers()),
    ):
        for key, tensor in tensors:
            yield from _tensor(tensor, f"{kind} `{key}` of {name}")
    for key, part in module.named_modules():
        where = f"`{key}` of {name}" if key else name
        yield f"the mode of {where}", part.training
        hooks = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks)
        yield f"the hooks of {where}", [list(hook) for hook in hooks]


def _tensor(tensor, name: str) -> Iterator[tuple[str, object]]:
    yield f"requires_grad of {name}", tensor.requires_grad
    hooks = (tensor._backward_hooks, getattr(tensor, "_post_accumulate_grad_hooks", None))
    yield f"the hooks of {name}", [list(hook or ()) for hook in hooks]
    yield name, (tensor.dtype, tuple(tensor.shape), _digest(tensor))
    if tensor.is_leaf:
        yield f"the gradient of {name}", None if tensor.grad is None else _digest(tensor.grad)


def _digest(tensor) -> bytes:
    import torch  # a fingerprint of plain numbers must not pay for torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return hashlib.blake2b(flat.view(torch.uint8).numpy(), digest_size=16).digest()
