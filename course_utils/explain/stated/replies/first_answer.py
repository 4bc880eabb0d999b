"""A reward that compares every reply of a batch with the answer of its first row."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_REPLIES = re.compile(r"completion|response|repl(?:y|ies)|output|prompt", re.IGNORECASE)
_GOLD = re.compile(r"answer|solution|truth|gold|target|label|reference|expected", re.IGNORECASE)
SURE = 9.4
FIRST = (
    "every reply of the batch is compared with the answer of its first row ({code}): only the "
    "replies to that prompt can be paid. So the reward stays near 1 / (prompts in a batch) of what "
    "the model gets right, and most groups have no reward that differs"
)


def compared_with_the_first(beside: Beside, log: Log) -> Iterator[Finding]:
    """Within a reward function, `gold = answer[0]`, and what is returned asks for `== gold`."""
    columns: set[str] = set()
    held: dict[str, tuple[Line, str]] = {}
    for line, statement in statements(beside):
        if isinstance(statement, ast.FunctionDef):
            names = [one.arg for one in statement.args.args]
            is_reward = any(map(_REPLIES.search, names))
            columns = {name for name in names if _GOLD.search(name)} if is_reward else set()
            held = {}
        for target, value in bound(statement):
            if isinstance(target, ast.Name) and _takes_first(value, columns):
                held[target.id] = (line, ast.unparse(value)[:60])
        if not isinstance(statement, ast.Return | ast.Expr):
            continue
        for one in ast.walk(statement):
            if isinstance(one, ast.ListComp) and (name := _compares(one, held)):
                at, code = held[name]
                proof = (at.says, line.says)
                why = FIRST.format(code=f"{name} = {code}")
                yield Finding("reward_of_other_row", SURE, at, proof, why=why)
                return


def _takes_first(value: ast.expr, columns: set[str]) -> bool:
    """Whether it is made of the first element of a column, and of nothing else of it."""
    taken = [one for one in ast.walk(value) if isinstance(one, ast.Subscript)]
    of = [one for one in taken if name_of(one.value) in columns]
    return bool(of) and all(isinstance(o.slice, ast.Constant) and o.slice.value == 0 for o in of)


def _compares(comprehension: ast.ListComp, held: dict[str, tuple[Line, str]]) -> str:
    """The held name with which each element is compared, if the loop does not bind it."""
    own = {
        name_of(one)
        for loop in comprehension.generators
        for one in ast.walk(loop.target)
        if isinstance(one, ast.Name)
    }
    asked = (one for one in ast.walk(comprehension.elt) if isinstance(one, ast.Compare | ast.Call))
    names = (name_of(part) for one in asked for part in ast.walk(one))
    return next((name for name in names if name in held and name not in own), "")
