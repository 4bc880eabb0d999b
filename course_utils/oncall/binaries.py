"""Converts the files of a run to text and back: in memory all of them are text.

So a checkpoint is planted, hashed, sent and certified as code and rows are. It stands there as
base64. Imports no torch.
"""

import base64
import io

TENSORS = ".safetensors"
HANDED_OVER = (".json", TENSORS)  # what an earlier job left: no file that a colleague wrote
DATA = (".jsonl", *HANDED_OVER)  # what has no lines that a report names


def as_bytes(name: str, text: str) -> bytes:
    """What stands on disk."""
    return base64.b64decode(text) if name.endswith(TENSORS) else text.encode()


def as_text(name: str, data: bytes) -> str:
    """The inverse of `as_bytes`; what is no text of UTF-8 is replaced there.

    >>> as_text("a.safetensors", b"ab"), as_text("a.py", b"ab")
    ('YWI=', 'ab')
    """
    if name.endswith(TENSORS):
        return base64.b64encode(data).decode()
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace").read()
