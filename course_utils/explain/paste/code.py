"""Python that was pasted beside a log: its statements, each with the line where it begins."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.sentences import is_prose

_PROMPT = re.compile(
    r"^\s*(?:>>> ?|\.\.\. ?|In \[\d+\]: ?|\+ |\d+\s*[:|]\s|"
    r"\d{1,4}(?:\t|\s{2,})(?=[A-Za-z_@]))?\s*"
)
_LIKE_CODE = re.compile(r"[=(]|^\s*(?:return|yield)\b|^\s*(?:for|if|with|class)\b.*:\s*$")
_HEADER = re.compile(r"^(?:elif|(?:async )?(?:def|for|with)|if|while|class)\b.*:\s*(?:#.*)?$")
MOST = 12  # lines of one statement


def statements(beside: Beside) -> Iterator[tuple[Line, ast.stmt]]:
    """Every statement that can be read, in its order; a block gives its head, then its lines."""
    lines = sorted((line for line in beside.words), key=place)
    number = 0
    while number < len(lines):
        taken, found = _read(tuple(line.text for line in lines[number : number + MOST]))
        yield from ((lines[number], one) for one in found)
        number += taken


@lru_cache(maxsize=4096)  # each rule reads the same lines again
def _read(texts: tuple[str, ...]) -> tuple[int, list[ast.stmt]]:
    """How many lines the statement takes that begins in the first one, and what it is."""
    text = _PROMPT.sub("", texts[0])
    if not _LIKE_CODE.search(text) or (is_prose(text) and text[:1].isupper() and "=" not in text):
        return 1, []
    for taken in range(1, len(texts) + 1):
        if found := _parsed(text):
            return taken, found
        if taken == len(texts) or sum(map(text.count, "([{")) <= sum(map(text.count, ")]}")):
            break
        text = f"{text}\n{_PROMPT.sub('', texts[taken])}"
    return 1, []


def _parsed(text: str) -> list[ast.stmt]:
    """
    >>> [type(one).__name__ for one in _parsed("a = 1; b = f(a)") + _parsed("elif a:")]
    ['Assign', 'Assign', 'If']
    """
    text = re.sub(r"^elif\b", "if", text.strip())
    if _HEADER.match(text.replace("\n", " ")):
        text = f"{text.partition('#')[0] if text.rstrip()[-1] != ':' else text} pass"
    try:
        with warnings.catch_warnings(record=True):  # of a pattern that is no raw string
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def name_of(node: ast.AST | None) -> str:
    """The last part of a name: of `F.kl_div` it is kl_div; "" where it is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@lru_cache(maxsize=4096)
def calls(node: ast.AST) -> tuple[ast.Call, ...]:
    return tuple(one for one in ast.walk(node) if isinstance(one, ast.Call))


def bound(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target of an assignment with its own value: two of `a, b = c, d`."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        value = statement.value
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if both and len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
        else:
            yield target, value


def last_number(node: ast.AST | None) -> int | None:
    """The whole number that an expression is, -1 as well."""
    try:
        value = ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
