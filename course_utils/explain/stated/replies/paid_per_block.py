"""A reward that adds a bonus for each block of a reply, without an upper limit."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import statements
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import moves

_COUNTS = re.compile(r"len\(\s*[\w.]*findall\(|\.count\(")
_CAPPED = re.compile(r"\bmin\(|\bclip\(|\bclamp\(|np\.minimum|/ *max\(")
RISEN, SURE = 2.0, 9.0  # times the first reward
PER_BLOCK = (
    "the reward adds a bonus for every block that it counts ({code}), without an upper limit: "
    "repeating blocks earns more than a right answer does, and the policy learns to repeat them "
    "into the length limit, while what it gets right falls"
)
CAP = (
    "pay the form once (a bonus if the tags are right, or min(count, n) with a small n), and well "
    "below what a right answer earns; begin again from before the reward rose, and judge by the "
    "right answers on held-out rows"
)


def paid_per_block(beside: Beside, log: Log) -> Iterator[Finding]:
    """`r += c * len(findall(...))` in a reward that rises far."""
    moved = moves(log.values("reward"))
    if moved is None or moved[1] < RISEN * max(moved[0], 0.1) or beside.matching(_CAPPED):
        return
    for line, statement in statements(beside):
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
            continue
        code = ast.unparse(statement)
        if _COUNTS.search(code):
            proof = (line.says, f"the reward rises from {moved[0]:.3g} to {moved[1]:.3g}")
            why = PER_BLOCK.format(code=code[:60])
            yield Finding("reward_pays_junk", SURE, line, proof, why=why, advice=CAP)
            return
