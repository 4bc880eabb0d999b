"""Whose a line is: a sentence of whoever pasted it, or what a program prints."""

import re
from functools import lru_cache

_PROSE = re.compile(
    r"\b(the|is|was|but|and|my|it|i|you|that|this|then|with|not|to|from|after|about|we|a|has|"
    r"when|in|of|on|for)\b|[\u4e00-\u9fff]{2}",
    re.IGNORECASE,
)
_LOGGED = re.compile(r"^\s*(?:\W*\d{4}-\d\d-\d\d|\[|\(\w+ pid=|(?:INFO|WARN\w*|DEBUG|File) )|^\s+")
_CODE = re.compile(r"\w\s*=\s*\S|\w\(")  # whose comment is no sentence of the line
_OF_A_PROGRAM = re.compile(
    r"^\W*(?:\d{4}-\d\d-\d\d|\w+ pid=|(?:INFO|WARN\w*|DEBUG|ERROR|rank ?\d+)\b)", re.IGNORECASE
)
_ASSIGNED = re.compile(r"(?<![\w/])\w+_\w+\s*=\s*\S")


@lru_cache(maxsize=4096)
def is_prose(text: str) -> bool:
    """Whether a line is somebody's sentence and no line of a program.

    >>> is_prose("it has stood there for two hours"), is_prose("[INFO] the run is on")
    (True, False)
    """
    code, mark, _ = text.partition("  #")
    text = code if mark and _CODE.search(code) else text
    words = {word.lower() for word in _PROSE.findall(text)}
    return not _LOGGED.match(text) and (len(words) >= 2 or "" in words)


def is_printed(text: str) -> bool:
    """Whether a line is a program's: it begins like one, or assigns a value, and is no sentence.

    >>> is_printed("num_batches=2. Keep generating..."), is_printed("Model keeps generating")
    (True, False)
    """
    return not is_prose(text) and bool(_OF_A_PROGRAM.match(text) or _ASSIGNED.search(text))
