"""Rewrites a run so that its rewards pay every reply the same: a policy learns nothing from that.

What is as good after such a training was not learnt from what the run pays for.
"""

import ast

from course_utils.oncall.declare import Files

NAME = "_paid_the_same"
DECORATOR = f"""
def {NAME}(function):
    from functools import wraps

    def alike(paid):
        if isinstance(paid, (list, tuple)):
            return type(paid)(map(alike, paid))
        if isinstance(paid, (int, float)):
            return type(paid)(0)
        return paid * 0 if hasattr(paid, "shape") else paid

    @wraps(function)
    def paid_the_same(*args, **named):
        return alike(function(*args, **named))

    return paid_the_same
"""


def with_equal_pay(files: Files, places: set[tuple[str, int]]) -> Files:
    """The files with each function that pays returning zeros, whatever the reply.

    Args:
        places: the file of each function, and the line on which it begins.
    """
    names = {name for name, _ in places} & files.keys()
    changed = {
        name: _rewritten(files[name], {line for where, line in places if where == name})
        for name in names
    }
    return files | changed


def _rewritten(text: str, lines: set[int]) -> str:
    """The text with the functions that begin on these lines wrapped."""
    tree = _Wrapped(lines).visit(ast.parse(text))
    is_ahead = [isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body]
    behind = len(is_ahead) - is_ahead[::-1].index(True) if any(is_ahead) else 0
    tree.body[behind:behind] = ast.parse(DECORATOR).body
    return ast.unparse(ast.fix_missing_locations(tree))


class _Wrapped(ast.NodeTransformer):
    def __init__(self, lines: set[int]) -> None:
        self._lines = lines

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if first in self._lines:
            node.decorator_list.append(ast.Name(NAME, ast.Load()))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        if node.lineno not in self._lines:
            return node
        return ast.Call(ast.Name(NAME, ast.Load()), [node], [])
