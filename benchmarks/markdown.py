"""Markdown tables for the generated pages in docs/."""

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown.

    >>> table(("a", "b"), [("1", "x | y")])
    ['| a | b |', '| --- | --- |', '| 1 | x \\\\| y |']
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines]
