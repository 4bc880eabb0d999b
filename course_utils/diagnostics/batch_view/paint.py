"""Draws rows of tokens, for a page and for a terminal. Finds nothing."""

from collections.abc import Iterator
from html import escape
from itertools import chain, groupby, repeat

from course_utils.diagnostics.batch_view.tokens import BatchView, Row, Token

WIDTH = 86
LEGEND = "[[learnt]]  read only  .N. = N hidden places (mask 0)  || = positions start again"
# Inline, because JupyterLab strips style sheets; the words are readable without colours.
LEARNT = "background: rgba(0, 114, 178, 0.22); border-bottom: 2px solid #0072B2"
READ = "background: rgba(118, 118, 118, 0.10)"
HIDDEN = "color: #767676; text-decoration: line-through"
NEW = "border-left: 3px solid #D55E00; margin-left: 4px"
NAMES = (
    (LEARNT, "learnt"),
    (READ, "read only"),
    (HIDDEN, "hidden (mask 0)"),
    (NEW, "a document begins"),
)
NUMBERS = ("id", "label", "mask", "position", "segment")
NUMBER = "font-size: 70%; color: #595959"


def as_text(view: BatchView, num_rows: int) -> list[str]:
    """Each row with its name, broken between tokens; learnt tokens are in double brackets."""
    lines = []
    for row in view.rows[:num_rows]:
        names = chain([f"{row.name:12}"], repeat(" " * 12))
        lines += [f"{name}{line}".rstrip() for name, line in zip(names, _filled(row), strict=False)]
    return lines


def _filled(row: Row) -> Iterator[str]:
    """The row's tokens in lines of at most `WIDTH` characters."""
    line = ""
    for piece in _pieces(row):
        if line and len(line) + len(piece) > WIDTH:
            yield line
            line = ""
        line += piece
    yield line


def _pieces(row: Row) -> Iterator[str]:
    """One piece per token; marks are at the first and the last token that they are about."""
    segment = 0
    for (state, which), group in groupby(row.tokens, key=lambda t: (_state(t), t.segment)):
        if which > segment:
            segment = which
            yield " || "
        pieces = list(map(visible, group))
        if state == "hidden":
            pieces = [f" .{len(pieces)}. "]
        if state == "learnt":
            pieces[0] = f"[[{pieces[0]}"
            pieces[-1] = f"{pieces[-1]}]]"
        yield from pieces


def _state(token: Token) -> str:
    if token.is_learnt:
        return "learnt"
    return "read" if token.is_attended else "hidden"


def visible(token: Token) -> str:
    """The piece with its line ends made visible.

    >>> visible(Token(1, "user\\n", True, True, None, 0))
    'user\\\\n'
    """
    return token.piece.replace("\n", "\\n").replace("\t", "\\t") or f"<{token.id}>"


def numbers(at: int, token: Token) -> tuple[str, ...]:
    """The token at place `at`, and its `NUMBERS`."""
    position = at if token.position is None else token.position
    values = (token.id, token.label, int(token.is_attended), position, token.segment)
    return (visible(token), *map(str, values))


def as_html(view: BatchView, num_rows: int) -> str:
    """Each row with coloured tokens; pointing at one shows its numbers."""
    legend = " ".join(f'<span style="{style}">{name}</span>' for style, name in NAMES)
    rows = [
        f'<div style="margin: 6px 0; line-height: 1.9"><b>{escape(row.name)}</b> '
        f"{''.join(_spans(row, view))}</div>"
        for row in view.rows[:num_rows]
    ]
    return f"<div>{legend}</div>{''.join(rows)}"


def _spans(row: Row, view: BatchView) -> Iterator[str]:
    segment = 0
    for at, token in enumerate(row.tokens):
        style = {"learnt": LEARNT, "read": READ, "hidden": HIDDEN}[_state(token)]
        if token.is_learnt and not token.is_attended:
            style = f"{LEARNT}; {HIDDEN}"
        if token.segment > segment:
            segment, style = token.segment, f"{style}; {NEW}"
        _, *values = numbers(at, token)
        number = f'<sub style="{NUMBER}">{values[-2]}</sub>' if view.has_positions else ""
        title = ", ".join(map(" ".join, zip(NUMBERS, values, strict=True)))
        text = escape(visible(token)).replace(" ", "&nbsp;")
        yield f'<span style="{style}" title="{title}"><code>{text}</code>{number}</span>&#8203;'
