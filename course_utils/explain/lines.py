"""The lines of a paste: colours dropped, progress bars parted, wrapped dicts put together."""

import re
from collections.abc import Iterable, Iterator

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
OPEN = re.compile(r"\{\s*(['\"][^{}]*)?$")
MAX_LINE, MAX_JOINED = 20_000, 40

Part = tuple[int, str]  # a line's number, its text


def parts(lines: Iterable[str]) -> Iterator[list[Part]]:
    """One part of a line at a time, or the parts of a dict that runs over several lines.

    >>> list(parts(["{'loss': 1.", "5}", "done"]))
    [[(1, "{'loss': 1."), (2, '5}')], [(3, 'done')]]
    """
    held: list[Part] = []
    for part in _single(lines):
        if held and _begins_another(part[1]):
            yield from ([one] for one in held)
            held = []
        if held or OPEN.search(part[1]):
            held.append(part)
            if len(held) > 1 and "}" in part[1]:
                yield held
                held = []
            elif len(held) > MAX_JOINED:
                yield from ([one] for one in held)
                held = []
        else:
            yield [part]
    yield from ([one] for one in held)


def _single(lines: Iterable[str]) -> Iterator[Part]:
    for number, raw in enumerate(lines, start=1):
        for text in ANSI.sub("", raw[:MAX_LINE]).rstrip("\n").split("\r"):
            yield number, text


def _begins_another(text: str) -> bool:
    at = text.find("{")
    return at >= 0 and "}" not in text[:at]


def is_cut(text: str) -> bool:
    """Whether a dict is opened at the end and not closed: its last number may be cut off."""
    return text.rfind("{") > text.rfind("}")
