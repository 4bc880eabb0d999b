"""What a model is asked with: the calls of generate in pasted code, and what flows into each."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line

_PIPE = re.compile(r"pipe\w*|(?:text_)?generator")
_ASKS = re.compile(r"(?:greedy_|sample_|unwrapped_)?generate(?:_text)?")
MOST = 40  # values that are followed
Source = tuple[Line, ast.expr]


@dataclass(frozen=True)
class Asked:
    """A call of generate, with each value that it was made of and the line that made it."""

    line: Line
    call: ast.Call
    sources: tuple[Source, ...]

    @property
    def text(self) -> str:
        return "\n".join(ast.unparse(value) for _, value in self.sources)

    def calls(self) -> Iterator[tuple[Line, ast.Call]]:
        return ((line, call) for line, value in self.sources for call in calls(value))


def asked(beside: Beside) -> list[Asked]:
    """Every call of generate whose input stands in the paste."""
    held: dict[str, list[Source]] = {}
    found = []
    for line, statement in statements(beside):
        for call in calls(statement):
            is_method = isinstance(call.func, ast.Attribute)
            if (_ASKS if is_method else _PIPE).fullmatch(name_of(call.func)):
                found.append(Asked(line, call, tuple(_sources(line, call, held))))
            if name_of(call.func) in ("append", "extend") and is_method:
                name = name_of(call.func.value)
                more = [one for arg in call.args for one in _sources(line, arg, held)]
                held[name] = [*held.get(name, []), *more][:MOST]
        _bind(line, statement, held)
    return found


def _bind(line: Line, statement: ast.stmt, held: dict[str, list[Source]]) -> None:
    if isinstance(statement, ast.FunctionDef):
        for one in statement.args.args:
            held.pop(one.arg, None)
    pairs = list(bound(statement))
    if isinstance(statement, ast.For):
        pairs.append((statement.target, statement.iter))
    for target, value in pairs:
        sources = list(_sources(line, value, held))[:MOST]
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if name := name_of(one):
                held[name] = sources


def _sources(line: Line, value: ast.AST, held: dict[str, list[Source]]) -> Iterator[Source]:
    if isinstance(value, ast.expr):
        yield line, value
    for name in dict.fromkeys(name_of(one) for one in ast.walk(value)):
        yield from held.get(name, [])
