"""Small JSON messages over a socket, with descriptors where needed. Imports no torch."""

import json
import socket
import struct

SIZE = struct.Struct(">I")
MAX_BYTES = 64 * 2**20


class Ended(Exception):
    """The other side is gone, or sent something that cannot be read."""


def tell(to: socket.socket, data: object, *descriptors: int) -> None:
    """Send one message.

    Raises:
        Ended: nobody is there any more.
    """
    text = json.dumps(data).encode()
    try:
        if descriptors:
            socket.send_fds(to, [SIZE.pack(len(text))], descriptors)
        else:
            to.sendall(SIZE.pack(len(text)))
        to.sendall(text)
    except OSError as error:
        raise Ended(str(error)) from error


def hear(of: socket.socket) -> tuple[object, list[int]]:
    """The next message and the descriptors that came with it.

    Raises:
        Ended: the other side is gone, silent for too long, or said what cannot be read.
    """
    try:
        head, descriptors, _, _ = socket.recv_fds(of, SIZE.size, 1)
        head += _exactly(of, SIZE.size - len(head)) if head else b""
        if len(head) < SIZE.size or (size := SIZE.unpack(head)[0]) > MAX_BYTES:
            raise Ended("it has ended")
        return json.loads(_exactly(of, size)), descriptors
    except (OSError, ValueError) as error:
        raise Ended(str(error)) from error


def _exactly(of: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (part := of.recv(size - len(data))):
            raise Ended("it has ended")
        data += part
    return bytes(data)
