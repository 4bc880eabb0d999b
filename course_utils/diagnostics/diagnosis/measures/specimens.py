"""Short samples for a report: the first or last tokens of a row, replies and their rewards."""

from collections.abc import Iterable

from course_utils.diagnostics.batch_view.case import Case, Finding
from course_utils.diagnostics.batch_view.tokens import Row, Token

SHOWN = 5
FIRST = {"two BOS"}  # what is seen at the beginning of a row
NO_ROW = {"packing leaks", "stops elsewhere"}  # what is not seen in one row
LONGEST = 60  # characters of a reply
MOST = 10  # numbers in a row


def of_finding(one: Finding, case: Case) -> tuple[str, ...]:
    """The first row of a finding, at the end that shows it."""
    row = next((row for row in case.view.rows if row.name in one.rows), None)
    if row is None or one.name in NO_ROW:
        return ()
    learns = case.learns_tokens
    if one.name in FIRST:
        return (f"{row.name} begins: {_said(row.tokens[:SHOWN], learns)}",)
    if one.name == "padding attended" and case.pad == row.ids[0]:
        return (f"{row.name} begins: {_said(row.tokens[:SHOWN], learns)}",)
    tokens = row.tokens if one.name.startswith("padding") else _without_padding(row)
    return (f"{row.name} ends: {_said(tokens[-SHOWN:], learns)}",)


def _without_padding(row: Row) -> tuple[Token, ...]:
    """The row up to its last attended token."""
    last = max((i for i, token in enumerate(row.tokens) if token.is_attended), default=-1)
    return row.tokens[: last + 1]


def _said(tokens: Iterable[Token], learns: bool) -> str:
    return ", ".join(_one(token, learns) for token in tokens)


def _one(token: Token, learns: bool) -> str:
    """A token with its id, and with its label if rows are trained on."""
    said = f"{token.id} {token.piece!r}"
    if not token.is_attended:
        return f"{said} hidden"
    if not learns:
        return said
    return f"{said} label {token.label if token.is_learnt else 'none'}"


def quoted(text: str) -> str:
    """A reply on one line.

    >>> quoted("4 + 4\\n= 8")
    "'4 + 4\\\\n= 8'"
    """
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")


def in_order(values: Iterable[float]) -> str:
    """The first numbers of a run, and its last.

    >>> in_order([0.0, 1e-3])
    '0, 0.001'
    """
    said = [f"{value:.2g}" for value in values]
    return ", ".join(said if len(said) <= MOST else [*said[: MOST - 2], "...", said[-1]])
