"""Finds in a notebook's source which variant of an exercise it has drawn. Runs nothing."""

import ast
import operator

from course_utils.grading.judge.cell_dependencies import end_of
from course_utils.grading.judge.syntax_trees import read

MAX_SEED = 10**9
SUMS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def drawn(cells: list[dict], exercise_id: str, attribute: str, num_variants: int) -> list[int]:
    """The variants that an answer may be about: the likeliest first, all if it is unknown.

    That is the last `ex.NAME.draw(seed)` above the check; after it those below, because cells may
    have been run in another order.

    Args:
        cells: as `needed` takes them; `theirs` is what the student made of a lesson's own cell.
        attribute: NAME.
    """
    numbers: dict[str, int | None] = {}
    end, above, below = end_of(cells, exercise_id), 0, []
    is_known = True
    for at, cell in enumerate(cells):
        for statement in read(cell.get("theirs", cell["source"])).tree.body:
            for seed in _draws(statement, attribute, numbers):
                if seed is None:
                    is_known = False
                elif at < end:
                    above = seed
                else:
                    below.append(seed)
            _note(statement, numbers)
    seeds = [above, *below, *(() if is_known else range(num_variants))]
    return list(dict.fromkeys(seed % num_variants for seed in seeds))


def _draws(statement: ast.stmt, attribute: str, numbers: dict) -> list[int | None]:
    """The seed of each draw; None for a seed that cannot be determined."""
    nodes = list(ast.walk(statement))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    handles = {id(node) for node in attributes if node.attr == attribute}
    asked = [node for node in attributes if id(node.value) in handles]
    methods = {id(node) for node in asked if node.attr == "draw"}
    calls = [node for node in nodes if isinstance(node, ast.Call) and id(node.func) in methods]
    is_plain = len(handles) == len(asked) and len(methods) == len(calls)
    return [*(_seed(call, numbers) for call in calls), *(() if is_plain else (None,))]


def _seed(call: ast.Call, numbers: dict) -> int | None:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return _value(given[0], numbers) if len(given) == 1 else None


def _value(node: ast.expr, numbers: dict) -> int | None:
    """A whole number that is written out, or follows from known names."""
    value = None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        value = node.value
    elif isinstance(node, ast.Name):
        value = numbers.get(node.id)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, numbers)
        value = None if inner is None else -inner
    elif isinstance(node, ast.BinOp) and type(node.op) in SUMS:
        sides = [_value(side, numbers) for side in (node.left, node.right)]
        is_sum = None not in sides and (sides[1] or not isinstance(node.op, ast.FloorDiv | ast.Mod))
        value = SUMS[type(node.op)](*sides) if is_sum else None
    return value if value is not None and abs(value) <= MAX_SEED else None


def _note(statement: ast.stmt, numbers: dict) -> None:
    """Update the known names after a statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if targets and all(isinstance(target, ast.Name) for target in targets):
        value = _value(statement.value, numbers)
        numbers.update(dict.fromkeys((target.id for target in targets), value))
        return
    stored = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
    numbers.update({n.id: None for n in stored if not isinstance(n.ctx, ast.Load)})
