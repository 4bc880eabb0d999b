"""Code that takes the first message of both replies' lists, which is the prompt of both."""

import ast
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import margins_of

SHOWN = 9.4
SAME = (
    "chosen and rejected are the same text in every pair: the code takes message [0] of both "
    "lists, and the first message is the user's turn, which both have in common. So both log-probs "
    "are one number, the margin is 0 and the loss ln 2, whatever the rate, beta or reference"
)
LAST = (
    "take the last message of each, ['chosen'][-1]['content'] and ['rejected'][-1]['content'], or "
    "give the trainer the lists of messages as they are; assert that the two texts differ in every "
    "row, and begin again"
)


def first_turn_of_both(beside: Beside, log: Log) -> Iterator[Finding]:
    """`row["chosen"][0]["content"]` beside the same of `rejected`, and margins of exactly 0."""
    margins = [value for _, value in margins_of(log)]
    if not margins or any(margins):
        return
    found: dict[str, Line] = {}
    for line, statement in statements(beside):
        for node in ast.walk(statement):
            if side := _first_message_of(node):
                found.setdefault(side, line)
    lines = [one for side in found for one in beside.words if _names(one, side)]
    if len(found) == 2:
        told = lines or list(found.values())
        proof = dict.fromkeys(one.says for one in told)
        at = f"all {len(margins)} margins of the log are exactly 0"
        yield Finding("pairs_alike", SHOWN, told[0], (*proof, at), why=SAME, advice=LAST)


def _first_message_of(node: ast.AST) -> str:
    """'chosen' or 'rejected' of `row["chosen"][0]["content"]`; or ""."""
    match node:
        case ast.Subscript(
            ast.Subscript(ast.Subscript(slice=ast.Constant(side)), ast.Constant(0)),
            ast.Constant("content"),
        ) if side in ("chosen", "rejected"):
            return side
    return ""


def _names(line: Line, side: str) -> bool:
    text = line.text.replace("'", '"')
    return f'["{side}"][0]' in text
