"""The Python side of the page in a browser: the command's answer, and what to show beside it."""

import io
import json

from course_utils.explain.picture import picture
from course_utils.explain.reader import explain


def answer(data: bytes) -> str:
    """JSON: `text` as `course explain` prints it, `keys` of the causes in it, `picture` (SVG).

    Args:
        data: a file as it is, or a paste in UTF-8; read as the command reads files.

    >>> json.loads(answer(b"exit code 136"))["keys"]
    ['sigfpe']
    """
    found = explain(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace"))
    keys = [one.key for one in found.shown]
    return json.dumps({"text": str(found), "keys": keys, "picture": picture(found)})
