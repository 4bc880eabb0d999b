"""Messages between judge and worker: JSON, with tensors as safetensors. Unpickles nothing.

What comes from a worker is bounded in size before it is read, and checked while it is.
"""

import functools
import json
import socket
import struct

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

MIB = 2**20
MAX_JSON, MAX_TENSORS = 4 * MIB, 256 * MIB
HEADER = struct.Struct(">QQ")
CHUNK = MIB
DTYPES = {
    str(value).removeprefix("torch."): value
    for value in vars(torch).values()
    if isinstance(value, torch.dtype)
}


class BadMessage(BaseException):
    """A worker sent an invalid message. Not an Exception: a criterion must not swallow it."""


class Gone(BaseException):
    """The other side has ended."""


def send(to: socket.socket, data: dict, tensors: list[torch.Tensor] = ()) -> None:
    """Send one message.

    Raises:
        Gone: nobody is there any more.
    """
    text = json.dumps(data).encode()
    kept = {str(n): tensor.detach().cpu().contiguous().clone() for n, tensor in enumerate(tensors)}
    body = save(kept) if kept else b""
    try:
        to.sendall(HEADER.pack(len(text), len(body)) + text + body)
    except OSError as error:
        raise Gone from error


def receive(
    of: socket.socket, *, max_json: int = MAX_JSON, max_tensors: int = MAX_TENSORS
) -> tuple[dict, list[torch.Tensor]]:
    """The next message.

    Raises:
        BadMessage: it is too large, or not of this form.
        Gone: nobody is there any more.
    """
    size, size_tensors = HEADER.unpack(_read(of, HEADER.size))
    if size > max_json or size_tensors > max_tensors:
        taken = f"{max_json / MIB:.0f} MiB of values and {max_tensors / MIB:.0f} of tensors"
        raise BadMessage(f"it is larger than {taken}")
    text, body = _read(of, size), _read(of, size_tensors)
    try:
        data = json.loads(text)
        found = load(bytes(body)) if body else {}
        tensors = [found[str(n)] for n in range(len(found))]
    except (ValueError, RecursionError, KeyError, SafetensorError, RuntimeError) as error:
        raise BadMessage(f"a message that is none: {type(error).__name__}") from error
    except Exception as error:  # whatever safetensors says to shapes that cannot be
        raise BadMessage(f"tensors that are none: {type(error).__name__}") from error
    if not isinstance(data, dict):
        raise BadMessage("a message that is no object")
    return data, tensors


def _read(of: socket.socket, size: int) -> bytearray:
    """`size` bytes; memory is allocated as they arrive, not as they are announced."""
    data = bytearray()
    while len(data) < size:
        try:
            part = of.recv(min(CHUNK, size - len(data)))
        except OSError as error:
            raise Gone from error
        if not part:
            raise Gone
        data += part
    return data


@functools.cache
def dtype_named(name: str) -> torch.dtype:
    if name not in DTYPES:
        raise BadMessage(f"a dtype {name!r:.50}")
    return DTYPES[name]
