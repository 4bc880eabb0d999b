"""Draws mutants: one small change to the code of a module, by the operators of cosmic-ray.

What judges nothing is not changed: texts, annotations, minutes and points, `frozen=True`.
"""

import ast
import contextlib
import os
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NO_JUDGES = ("minutes", "points", "frozen")  # keywords


@dataclass(frozen=True)
class Mutant:
    """One changed module.

    Attributes:
        path: of the module, from the root of the course.
        line: the number of the first changed line.
        was, now: that line before and after.
        source: the whole changed module.
    """

    path: str
    line: int
    was: str
    now: str
    source: str


def draw(root: Path, path: str, seed: int) -> Mutant | None:
    """A mutant of a module, or None if it has nothing to change; the same for the same source."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (root / path).read_text()
    rng = random.Random(f"{seed} {path}")
    places = _places(source)
    while places:
        changes = places.pop(rng.choice(sorted(places)))
        name, occurrence = rng.choice(changes)
        changed = mutate_code(source, get_operator(name)(), occurrence)
        if _compiles(changed):
            pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
            for line, (was, now) in enumerate(pairs, 1):
                if was != now:
                    return Mutant(path, line, was.strip(), now.strip(), changed)
    return None


@contextlib.contextmanager
def mutated(root: Path, mutant: Mutant, number: int) -> Iterator[None]:
    """The module as the mutant has it, for as long as the context lasts.

    Python takes a compiled module for current by its time and size: `number` makes the time new.
    """
    path = root / mutant.path
    before, times = path.read_text(), path.stat()
    path.write_text(mutant.source)
    os.utime(path, (number, number))
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, (times.st_atime, times.st_mtime))


def _places(source: str) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """By position, the changes that can be made there: operator and its number in the module."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes, left_out = list(ast_nodes(get_ast(source))), _left_out(ast.parse(source))
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in operator_names():
        if get_operator(name).arguments():  # these ask for the names of variables
            continue
        operator = get_operator(name)()
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(positions):
            if not any(first <= start < last for first, last in left_out):
                found.setdefault(start, []).append((name, occurrence))
    return found


def _left_out(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a module has what judges nothing."""
    parts: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            parts.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts.append(node.returns)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.keyword) and node.arg in NO_JUDGES
        ):
            parts.append(node)
    return [
        ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
        for part in parts
        if part is not None
    ]


def _compiles(source: str | None) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "is" beside a number, say
        try:
            ast.parse(source or "")
            compile(source or "", "mutant", "exec")
        except (SyntaxError, SyntaxWarning):
            return False
    return bool(source)
