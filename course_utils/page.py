"""How a finding looks on a page: building blocks of HTML that survive an untrusted notebook.

Only inline borders, backgrounds and margins: JupyterLab strips <style>, <svg>, var() and max-width
from notebooks that are not trusted. Backgrounds are translucent, so that a dark theme works too.
Nothing here computes.
"""

import re
from enum import StrEnum
from html import escape


class State(StrEnum):
    """What a finding means, whatever it is about. Colour is never the only cue."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    ALARM = "alarm"
    PLAIN = "plain"


# Edge, background, and the sign that stands before the words. The edges are Okabe and Ito's.
LOOKS = {
    State.GOOD: ("#009E73", "rgba(0, 158, 115, 0.10)", "✓"),
    State.BAD: ("#D55E00", "rgba(213, 94, 0, 0.10)", "✗"),
    State.OPEN: ("#767676", "rgba(118, 118, 118, 0.10)", "○"),
    State.ALARM: ("#CC79A7", "rgba(204, 121, 167, 0.14)", "!"),
    State.PLAIN: ("#0072B2", "rgba(0, 114, 178, 0.06)", ""),
}
WRAP = "white-space: normal; overflow-wrap: break-word"
NOT_FINITE = re.compile(r"(?<![\w.])-?(nan|inf)(?![\w.])")


class Link(str):
    """The text of a table's cell that leads to `to` where links work, and is plain text elsewhere.

    >>> table(("to",), [(Link("end", to="99.ipynb"),)]).count('<a href="99.ipynb">end</a>')
    1
    """

    def __new__(cls, text: str, *, to: str) -> "Link":
        link = super().__new__(cls, text)
        link.to = to
        return link


def box(state: State, title: str, body: str = "") -> str:
    """A box with a coloured left edge: its sign and `title` (text) in bold, then `body` (HTML)."""
    edge, background, sign = LOOKS[state]
    style = f"border-left: 4px solid {edge}; background: {background}; padding: 6px 12px"
    head = f"<div><b>{sign} {escape(title)}</b></div>" if title else ""
    return f'<div style="{style}; margin: 4px 0; {WRAP}">{head}{body}</div>'


def line(state: State, text: str, details: tuple[tuple[str, str], ...] = ()) -> str:
    """One line with its sign; each detail, such as ("saw", "nan"), indented below it."""
    sign = LOOKS[state][2]
    below = "".join(
        f'<div style="margin-left: 1.8em"><i>{escape(name)}:</i> {marked(value)}</div>'
        for name, value in details
    )
    return f"<div>{sign} {escape(text)}</div>{below}"


def preformatted(lines: tuple[str, ...]) -> str:
    """Lines as they were printed, broken at spaces where the page ends."""
    text = "\n".join(map(marked, lines))
    return f'<pre style="white-space: pre-wrap; overflow-wrap: break-word">{text}</pre>'


def table(columns: tuple[str, ...], rows: list[tuple]) -> str:
    """A table whose cells are aligned left and wrapped between words."""
    style = f' style="text-align: left; vertical-align: top; {WRAP}"'

    def row(cells: tuple, tag: str) -> str:
        return "".join(f"<{tag}{style}>{_cell(cell)}</{tag}>" for cell in cells)

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{row(columns, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: object) -> str:
    text = marked(str(cell))
    return f'<a href="{escape(cell.to)}">{text}</a>' if isinstance(cell, Link) else text


def marked(text: str) -> str:
    """`text` as HTML, every nan and inf in bold on a coloured ground.

    >>> marked("loss nan < 1")
    'loss <b style="background: rgba(213, 94, 0, 0.25)">nan</b> &lt; 1'
    """
    ground = '<b style="background: rgba(213, 94, 0, 0.25)">'
    return NOT_FINITE.sub(lambda match: f"{ground}{match[0]}</b>", escape(text))
