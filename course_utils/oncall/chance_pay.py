"""Rewrites a run so that its rewards pay by chance: a policy learns nothing good from that.

What is as good after such a training was not learnt from what the run pays for.
"""

import ast

from course_utils.oncall.declare import Files

NAME = "_paid_by_chance"
# What an earlier reply has earned: a run that asks whether anything was paid at all goes on.
DECORATOR = f"""
def {NAME}(function):
    from functools import wraps
    from random import Random

    drawn, earlier = Random(0), []

    def by_chance(paid):
        if isinstance(paid, (list, tuple)):
            return type(paid)(map(by_chance, paid))
        if getattr(paid, "ndim", 0):
            return paid[drawn.sample(range(len(paid)), len(paid))]
        if isinstance(paid, (int, float)) or hasattr(paid, "ndim"):
            earlier.append(paid)
            return drawn.choice(earlier)
        return paid

    @wraps(function)
    def paid_by_chance(*args, **named):
        return by_chance(function(*args, **named))

    return paid_by_chance
"""
Place = tuple[str, int, int]  # a file, the line on which a function begins, a lambda's column or -1


def with_chance_pay(files: Files, places: set[Place]) -> Files | None:
    """The files with each function that pays wrapped; None where one of them is not in the files.

    Args:
        places: where these functions begin. A column lies within a lambda, and is 0 where it is
            not known.
    """
    changed = {}
    for name in {name for name, *_ in places}:
        mine = [(line, column) for where, line, column in places if where == name]
        wrapped = _wrapped(files.get(name, ""), mine)
        if wrapped is None:
            return None
        changed[name] = wrapped
    return files | changed


def _wrapped(text: str, places: list[tuple[int, int]]) -> str | None:
    """The text with the functions that begin there wrapped; None where one of them is not there."""
    tree = ast.parse(text)
    found = [_found(tree, *place) for place in places]
    if None in found:
        return None
    tree = _Wrapped(found).visit(tree)
    is_ahead = [isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body]
    behind = len(is_ahead) - is_ahead[::-1].index(True) if any(is_ahead) else 0
    tree.body[behind:behind] = ast.parse(DECORATOR).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _found(tree: ast.Module, line: int, column: int) -> ast.AST | None:
    """The one function that begins there."""
    kind = ast.Lambda if column >= 0 else ast.FunctionDef
    begin = [node for node in ast.walk(tree) if isinstance(node, kind) and _first(node) == line]
    if len(begin) > 1 and column > 0:
        around = [one for one in begin if one.col_offset < column < one.end_col_offset]
        begin = sorted(around, key=lambda one: one.end_col_offset - one.col_offset)[:1]
    return begin[0] if len(begin) == 1 else None


def _first(node: ast.AST) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])


class _Wrapped(ast.NodeTransformer):
    def __init__(self, found: list[ast.AST]) -> None:
        self._found = found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node in self._found:
            node.decorator_list.append(ast.Name(NAME, ast.Load()))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name(NAME, ast.Load()), [node], []) if node in self._found else node
