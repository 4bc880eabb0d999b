"""Wraps text to the width of a page or a terminal: at spaces, never inside a word."""

import textwrap

WIDTH = 100
GAP = "  "  # between two columns


def wrapped(text: str, *, hang: str = "  ", width: int = WIDTH) -> str:
    """`text` with every line of more than `width` characters broken at spaces.

    Args:
        hang: what stands before a line's continuation, after the line's own indent.

    >>> print(wrapped("fix: load the weights in float32", width=20))
    fix: load the
      weights in float32
    """
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, width, hang))


def say(text: str) -> None:
    """Print `text`, wrapped."""
    print(wrapped(text))


def columns(rows: list[tuple], *, width: int = WIDTH) -> list[str]:
    """`rows` of cells as lines of aligned columns; the widest columns are wrapped to fit.

    >>> print(*columns([("claim", "verdict"), ("C1", "false: it was set")], width=16), sep="\\n")
    claim  verdict
    C1     false: it
             was set
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = _widths(cells, width)
    lines = []
    for row in cells:
        pieces = [_pieces(cell, size, "  ") for cell, size in zip(row, widths, strict=True)]
        for number in range(max(map(len, pieces))):
            parts = (piece[number] if number < len(piece) else "" for piece in pieces)
            padded = (part.ljust(size) for part, size in zip(parts, widths, strict=True))
            lines.append(GAP.join(padded).rstrip())
    return lines


def _widths(cells: list[list[str]], width: int) -> list[int]:
    """The columns' widths: the widest shrink, down to their longest word, until all fit."""
    by_column = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in by_column]
    least = [max(map(_longest_word, column)) for column in by_column]
    room = width - len(GAP) * (len(widths) - 1)
    while sum(widths) > room:
        wide = [i for i, size in enumerate(widths) if size > least[i]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _longest_word(cell: str) -> int:
    """The width of a cell's longest word; one after the first may need a hanging indent."""
    first, *others = cell.split() or [""]
    indent = len(cell) - len(cell.lstrip())
    return max(indent + len(first), *(indent + 2 + len(word) for word in others), 0)


def _pieces(line: str, width: int, hang: str) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
