"""Encodes plain values as JSON and tensors, and decodes them; each side adds its own types.

What is derived from a builtin type travels as that; what merely claims to be one, as its name.
"""

import re
from collections import UserDict
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import torch

from course_utils.checks.declare import TODO
from course_utils.grading.judge.wire import BadMessage, dtype_named

MAX_DEPTH, MAX_INT_BITS, MAX_HASHED = 50, 4096, 5000
MAX_DIGITS, EXPONENT = 4000, re.compile(r"[eE][+-]?0*([\d_]+)")
PLAIN = (bool, str, float, type(None))
SEQUENCES = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


NUMBERS = {kind.__name__: kind for kind in (Decimal, Fraction, complex)}


class Opaque:
    """A value that cannot be sent: only its type's name and its repr are known."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def opaque(type_name: str, text: str) -> Opaque:
    """A stand-in whose type has the name of the original's."""
    return type(type_name.replace("\0", ""), (Opaque,), {})(text)


class Encoder:
    """Turns values into JSON; tensors are collected in `tensors`, each once."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self._kept: list[object] = []  # an id stays taken while its value lives

    def encode(self, value: object, depth: int = 0) -> object:
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is int and value.bit_length() <= MAX_INT_BITS:
            return value
        if depth > MAX_DEPTH:
            return self.other(value)
        for name, sequence in SEQUENCES.items():
            if isinstance(value, sequence):
                items = list(sequence.__iter__(value))
                return {"is": name, "of": [self.encode(item, depth + 1) for item in items]}
        if isinstance(value, UserDict):  # such as a tokenizer's encoding
            return self.encode(value.data, depth + 1)
        if isinstance(value, dict):
            pairs = dict.items(value)
            return {
                "is": "dict",
                "of": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in pairs],
            }
        if kind is torch.dtype:
            return {"is": "dtype", "name": str(value).removeprefix("torch.")}
        if kind in NUMBERS.values():
            return {"is": kind.__name__, "text": str(value)}
        if value is TODO:
            return {"is": "todo"}
        for plain in (str, float, int):
            if isinstance(value, plain) and not isinstance(value, Enum):
                return self.encode(plain(value), depth + 1)  # numpy's float64 is a float
        return self.tensor(value) if isinstance(value, torch.Tensor) else self.other(value)

    def add(self, tensor: torch.Tensor) -> int:
        """Collect a tensor; returns its number."""
        self._kept.append(tensor)
        self.tensors.append(tensor.detach())
        return len(self.tensors) - 1

    def tensor(self, value: torch.Tensor) -> object:
        raise NotImplementedError

    def other(self, value: object) -> object:
        """Any other value: here, its name."""
        try:
            text = repr(value)[:200]
        except BaseException:
            text = "an object that cannot show itself"
        return {"is": "object", "type": str(type(value).__name__)[:100], "text": text}


class Decoder:
    """Turns JSON into values; trusts nothing that it has not checked.

    Args:
        tensors: those of the message.
    """

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self._tensors = tensors

    def decode(self, data: object, depth: int = 0) -> object:
        if depth > 2 * MAX_DEPTH:
            raise BadMessage("a value that is nested too deeply")
        if type(data) is str:
            return data.encode("utf-8", "replace").decode()
        if type(data) in (*PLAIN, int):
            return data
        if type(data) is not dict or type(kind := data.get("is")) is not str:
            raise BadMessage("a value of no known kind")
        if kind in SEQUENCES:
            return self._hashable(SEQUENCES[kind], self._all(data, depth))
        if kind == "dict":
            pairs = [item for item in _listed(data)]
            if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
                raise BadMessage("a dict of no pairs")
            pairs = [tuple(self.decode(part, depth + 1) for part in pair) for pair in pairs]
            return self._hashable(dict, pairs)
        if kind == "dtype":
            return dtype_named(text_of(data, "name"))
        if kind in NUMBERS:
            return _number(NUMBERS[kind], text_of(data, "text"))
        if kind == "todo":
            return TODO
        if kind == "object":
            return opaque(text_of(data, "type"), text_of(data, "text"))
        return self.special(kind, data)

    def tensor(self, number: object) -> torch.Tensor:
        if type(number) is not int or not 0 <= number < len(self._tensors):
            raise BadMessage(f"a tensor {number!r:.50}")
        return self._tensors[number]

    def special(self, kind: str, data: dict) -> object:
        raise BadMessage(f"a value of kind {kind!r:.50}")

    def _all(self, data: dict, depth: int) -> list:
        return [self.decode(item, depth + 1) for item in _listed(data)]

    @staticmethod
    def _hashable(make: type, items: list) -> object:
        if make is not list and make is not tuple and len(items) > MAX_HASHED:
            raise BadMessage(f"{len(items)} things to hash, which may all collide")
        try:
            return make(items)
        except TypeError as error:
            raise BadMessage(f"a {make.__name__} of what cannot be in one") from error


def _number(kind: type, text: str) -> object:
    """A number of bounded size: `Fraction("1e999999999")` would take all memory."""
    if len(text) > MAX_DIGITS or any(len(digits) > 3 for digits in EXPONENT.findall(text)):
        raise BadMessage("a number that is too long")
    try:
        return kind(text)
    except (ArithmeticError, ValueError) as error:
        raise BadMessage("a number that is none") from error


def _listed(data: dict) -> list:
    items = data.get("of")
    if type(items) is not list:
        raise BadMessage("a container of nothing")
    return items


def text_of(data: dict, key: str) -> str:
    """A text of a message.

    Raises:
        BadMessage: there is none.
    """
    value = data.get(key)
    if type(value) is not str:
        raise BadMessage(f"no text {key}")
    return value.encode("utf-8", "replace").decode()


def int_of(data: dict, key: str, below: int) -> int:
    """A whole number of a message, from 0 to below `below`.

    Raises:
        BadMessage: there is none, or another one.
    """
    value = data.get(key)
    if type(value) is not int or not 0 <= value < below:
        raise BadMessage(f"no number {key} below {below}")
    return value
