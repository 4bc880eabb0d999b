"""Parses code into trees at a bounded cost, and caches what is looked up in them. Runs nothing.

Whatever a cell makes a parser do is the cell's matter: one that cannot be read has no names.
"""

import ast
import functools
import re
import warnings
from functools import cached_property

from IPython.core.inputtransformer2 import TransformerManager

from course_utils.grading.judge import names
from course_utils.grading.judge.names import Names

# The longest cell of a lesson has 900 characters and 25 levels. A tree takes 400 bytes a character.
MAX_CHARS, MAX_DEPTH = 30_000, 80
MAX_MAGIC_CHARS = 40_000  # IPython goes through the whole cell for each of its magics
TIMING = re.compile(r"\s*%%(time|capture)[ \t]*\r?\n")
MAGIC = re.compile(r"\s*%%(?!(time|capture)[ \t]*\r?\n)|\s*%run\b")  # it may do anything
NOTHING = ast.Module(body=[], type_ignores=[])


class Code:
    """One piece of source; each question about it is computed once."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def _parsed(self) -> tuple[ast.Module, bool]:
        try:
            tree = _tree(without_timing(self.source))
        except (SyntaxError, ValueError):
            return NOTHING, True  # nothing of it is run, either
        except (OverflowError, RecursionError, MemoryError):
            return NOTHING, False
        return (tree, True) if _is_shallow(tree) else (NOTHING, False)

    @property
    def tree(self) -> ast.Module:
        """The source as Python; empty if it is not Python or cannot be read."""
        return self._parsed[0]

    @property
    def is_readable(self) -> bool:
        """Whether its tree shows everything that it may do."""
        return self._parsed[1]

    @cached_property
    def names(self) -> Names:
        return names.names_of(self.tree)

    @cached_property
    def left(self) -> frozenset[str]:
        """Names it may bind; "*" if it may bind any name."""
        is_all = self.is_readable and not MAGIC.match(self.source)
        return frozenset(self.names.left if is_all else {"*"})

    @cached_property
    def uses(self) -> frozenset[str]:
        return frozenset(self.names.taken | set(names.asked_answers(self.tree)))

    @cached_property
    def changes(self) -> frozenset[str]:
        """Names whose value it changes in place."""
        return frozenset(names.changed_names(self.tree))

    @cached_property
    def touches(self) -> frozenset[str]:
        """Names whose value it may change, also by a call; in functions, too."""
        return frozenset(names.touched_names(self.tree))

    @cached_property
    def imported(self) -> frozenset[str]:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, names.IMPORTS)]
        return frozenset(name for node in nodes for name in names.names_of(node).left)

    @cached_property
    def functions(self) -> list[tuple[str, ast.AST]]:
        """Functions and classes with their names; "" is that of a lambda."""
        kinds = (*names.DEFINITIONS, ast.Lambda)
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, kinds)]
        return [(getattr(node, "name", ""), node) for node in nodes]

    @cached_property
    def normal(self) -> str:
        """The source without comments, blank lines and layout; unchanged if it is not Python.

        A magic that measures stays: it is run, too.
        """
        head = TIMING.match(self.source)
        if not self.tree.body:
            return self.source.strip()
        try:
            text = ast.unparse(self.tree)
        except ValueError:  # a number of 5,000 digits
            return self.source.strip()
        return f"{head[0].strip()}\n{text}" if head else text


@functools.lru_cache(maxsize=4096)
def read(source: str) -> Code:
    """The code of `source`; the same object for the same text until `forget`."""
    return Code(source)


def forget() -> None:
    """Free all trees; the cache is bounded by one submission."""
    read.cache_clear()


def without_timing(source: str) -> str:
    """A cell without a magic in its first line that runs the rest as it stands."""
    head = TIMING.match(source)
    return source[head.end() :] if head else source


def _tree(source: str) -> ast.Module:
    """The tree of a cell, with its magics as calls.

    Raises:
        OverflowError: it is longer than what is read.
        Exception: whatever a parser says.
    """
    if len(source) > MAX_CHARS:
        raise OverflowError(len(source))
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        num_magics = sum(any(mark in line for mark in "%!?") for line in source.splitlines())
        if num_magics * len(source) > MAX_MAGIC_CHARS:
            raise OverflowError(num_magics) from None
        try:
            with warnings.catch_warnings(action="ignore"):
                transformed = TransformerManager().transform_cell(source)
        except Exception as error:
            raise OverflowError("IPython cannot read it") from error
        return ast.parse(transformed)


def _is_shallow(tree: ast.Module) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False
