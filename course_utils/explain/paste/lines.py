"""Cleans pasted lines: removes what a terminal, a forum or an editor has added.

Colours and quotation marks are dropped, progress bars parted, wrapped dicts put together.
"""

import html
import re
from collections.abc import Iterable, Iterator

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
OPEN = re.compile(r"\{\s*(['\"][^{}]*)?$")
QUOTED_MAIL = re.compile(r"^\s*(?:>\s?)+")
ENTITY = re.compile(r"&(?:\w{2,6}|#\d{2,5});")
_TYPED = {  # what editors and other keyboards write for the signs of a log
    "'": "\u2018\u2019\u201a",
    '"': "\u201c\u201d\u201e",
    "-": "\u2212",
    ":": "\uff1a",
    ",": "\uff0c",
    ";": "\uff1b",
    "|": "\uff5c\u2502",
    " ": "\u00a0\u202f\u3000",
}
TYPED = {ord(odd): usual for usual, some in _TYPED.items() for odd in some}
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
        line = raw[:MAX_LINE]
        line = ANSI.sub("", line) if "\x1b" in line else line
        for text in line.rstrip("\n").split("\r"):
            yield number, plain(text)


def plain(text: str) -> str:
    """A line without the marks of a quotation, HTML entities, curly quotes and wide signs.

    >>> plain("> > {\u2018loss\u2019\uff1a 2.1, &quot;text&quot;: 1}")
    '{\\'loss\\': 2.1, "text": 1}'
    """
    if "&" in text and ENTITY.search(text):
        text = html.unescape(text)
    if not text.isascii():
        text = text.translate(TYPED)
    return QUOTED_MAIL.sub("", text) if text.lstrip().startswith(">") else text


def _begins_another(text: str) -> bool:
    at = text.find("{")
    return at >= 0 and "}" not in text[:at]


def is_cut(text: str) -> bool:
    """Whether a dict is opened at the end and not closed: its last number may be cut off."""
    return text.rfind("{") > text.rfind("}")
