"""Building blocks of HTML for findings; they survive in an untrusted notebook.

Only inline borders, backgrounds and margins: JupyterLab strips <style>, <svg>, var() and max-width
from notebooks that are not trusted. Backgrounds are translucent and words have the theme's own
colour, so that a dark theme works too. Nothing here computes.
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


# Edge, background, and the sign that stands before the words. The edges are Okabe and Ito's, the
# purple one darker: at least 3:1 against page and box, in a light theme and in a dark one.
LOOKS = {
    State.GOOD: ("#009E73", "rgba(0, 158, 115, 0.10)", "✓"),
    State.BAD: ("#D55E00", "rgba(213, 94, 0, 0.10)", "✗"),
    State.OPEN: ("#767676", "rgba(118, 118, 118, 0.10)", "○"),
    State.ALARM: ("#B8639A", "rgba(204, 121, 167, 0.14)", "!"),
    State.PLAIN: ("#0072B2", "rgba(0, 114, 178, 0.06)", ""),
}
GROUND = "rgba(213, 94, 0, 0.25)"  # behind a nan or an inf
WRAP = "white-space: normal; overflow-wrap: break-word"
NOT_FINITE = re.compile(r"(?<![\w.])-?(nan|inf)(?![\w.])")
JOINT = re.compile(r"(?<=\w[/_.])(?=[a-z_])", re.IGNORECASE)  # where a long name may be broken


Details = tuple[tuple[str, str], ...]  # such as ("saw", "nan")


class Link(str):
    """The text of a table's cell: a link to `to` where links work, plain text elsewhere.

    >>> table(("to",), [(Link("end", to="99.ipynb"),)]).count('<a href="99.ipynb">end</a>')
    1
    """

    def __new__(cls, text: str, *, to: str) -> "Link":
        link = super().__new__(cls, text)
        link.to = to
        return link


def box(state: State, title: str, body: str = "") -> str:
    """A box with a coloured left edge: its sign and `title` (text) in bold, then `body` (HTML)."""
    head = f"<div><b>{LOOKS[state][2]} {breakable(title)}</b></div>" if title else ""
    return _boxed(state, head + body)


def card(state: State, name: str, text: str, *, found: str = "", details: Details = ()) -> str:
    """A box on one thing: its sign and `name` in bold, its text, what was found, the details."""
    head = f"<div><b>{LOOKS[state][2]} {breakable(name)}</b> {marked(text)}</div>"
    below = " · ".join(_named(name, value) for name, value in details)
    return _boxed(state, "".join([head, *(_indented(x) for x in (marked(found), below) if x)]))


def line(state: State, text: str, details: Details = ()) -> str:
    """One line with its sign; each detail, such as ("saw", "nan"), indented below it."""
    below = "".join(_indented(_named(name, value)) for name, value in details)
    return f"<div>{LOOKS[state][2]} {breakable(text)}</div>{below}"


def lines(texts: tuple[str, ...]) -> str:
    """Lines of text, one below the other."""
    return "".join(f"<div>{marked(text)}</div>" for text in texts)


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


def _boxed(state: State, content: str) -> str:
    edge, background, _ = LOOKS[state]
    style = f"border-left: 4px solid {edge}; background: {background}; padding: 6px 12px"
    return f'<div style="{style}; margin: 4px 0; {WRAP}">{content}</div>'


def _named(name: str, value: str) -> str:
    return f"<i>{escape(name)}:</i> {marked(value)}"


def _indented(content: str) -> str:
    return f'<div style="margin-left: 1.8em">{content}</div>'


def marked(text: str) -> str:
    """`text` as HTML, every nan and inf in bold on a coloured ground.

    >>> marked("loss nan < 1")
    'loss <b style="background: rgba(213, 94, 0, 0.25)">nan</b> &lt; 1'
    """
    ends, parts = 0, []
    for match in NOT_FINITE.finditer(text):
        ground = f'<b style="background: {GROUND}">{match[0]}</b>'
        parts += [breakable(text[ends : match.start()]), ground]
        ends = match.end()
    return "".join([*parts, breakable(text[ends:])])


def breakable(text: str) -> str:
    """`text` as HTML in which long names may be broken at their joints, so that a table fits.

    >>> breakable("actor/kl_loss 0.5")
    'actor/<wbr>kl_<wbr>loss 0.5'
    """
    return "<wbr>".join(map(escape, JOINT.split(text)))
