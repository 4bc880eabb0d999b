"""Finds the cells of a lesson that are scaffolding and get folded, and frames its exercises.

A cell is scaffolding when all it does is judge, expect or draw: the reader wants its output.
"""

import ast
import re
from collections.abc import Iterator

FOLDED = "hide-input"  # the tag that site builders fold by as well

DRAWN_ON = {"ax", "axes", "fig"}
JUDGES = {"verdicts", "expect_symptom", "plotting", "plt", "concepts"} | DRAWN_ON
RECALL = "recall"  # names the answer of a prediction
EXERCISE = re.compile(r"^\*\*Exercise \d\d\.\d+", re.MULTILINE)

# Inline, because JupyterLab strips style sheets and classes from notebooks that are not trusted.
FRAME = '<div style="border-left: 4px solid #0072B2; padding-left: 12px">'


def is_scaffolding(source: str) -> bool:
    """Whether every call that stands alone in the cell, or in its loops, judges, expects or draws.

    >>> is_scaffolding('late = a > b\\nverdicts.judge("C2", "false", "late", "5", holds=late)')
    True
    >>> is_scaffolding("for name in found:\\n    ax.plot(found[name])\\nfound.draw(ax)")
    True
    >>> is_scaffolding("trainer.train()\\nplotting.show(fig, 'x')")
    False
    >>> is_scaffolding('ex.WHERE.recall("b", holds=True)')
    True
    """
    try:
        body = list(_unrolled(ast.parse(source).body))
    except SyntaxError:  # a magic
        return False
    alone = [node.value for node in body if isinstance(node, ast.Expr)]
    others = [node for node in body if not isinstance(node, (ast.Expr, ast.Assign, ast.Import))]
    judged = map(_judges_or_draws, alone)
    return bool(alone) and all(judged) and not others and not _trains(body)


def in_a_frame(text: str) -> str:
    """Text in which an exercise, from its first line to the end, has a coloured edge."""
    found = EXERCISE.search(text)
    if not found:
        return text
    before, exercise = text[: found.start()], text[found.start() :]
    return f"{before}{FRAME}\n\n{exercise}\n\n</div>"


def _unrolled(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield from _unrolled(node.body) if isinstance(node, ast.For) else (node,)


def _judges_or_draws(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call):
        return False
    given = {arg.id for arg in call.args if isinstance(arg, ast.Name)}
    recalls = isinstance(call.func, ast.Attribute) and call.func.attr == RECALL
    return recalls or _root(call.func) in JUDGES or bool(given & DRAWN_ON)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _trains(body: list[ast.stmt]) -> bool:
    names = [n.attr for node in body for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    return "train" in names or "check" in names
