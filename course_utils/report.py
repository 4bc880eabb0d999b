"""Tables and reports that read the same in a terminal, in JupyterLab and as data.

Nothing here computes; it only lays out what it was given.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape


class Link(str):
    """The text of a table's cell that leads to `to` where links work, and is plain text elsewhere.

    >>> '<a href="99.ipynb">end</a>' in Table(("to",), [(Link("end", to="99.ipynb"),)]).html()
    True
    """

    def __new__(cls, text: str, *, to: str) -> "Link":
        link = super().__new__(cls, text)
        link.to = to
        return link


def _html(cell: object) -> str:
    text = escape(str(cell))
    return f'<a href="{escape(cell.to)}">{text}</a>' if isinstance(cell, Link) else text


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns, with an optional title and closing notes.

    >>> print(Table(columns=("step", "loss"), rows=[("1", "0.69")], title="The run"))
    The run
      step  loss
      1     0.69
    """

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    title: str = ""
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        rows = [self.columns, *self.rows]
        widths = [max(len(str(row[i])) for row in rows) for i in range(len(self.columns))]
        lines = [self.title] if self.title else []
        for row in rows:
            cells = (str(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(("  " + "  ".join(cells)).rstrip())
        return "\n".join([*lines, *self.notes])

    def html(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            style = ' style="text-align: left; vertical-align: top"'
            return "".join(f"<{tag}{style}>{_html(cell)}</{tag}>" for cell in cells)

        body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in self.rows)
        title = f"<p><b>{escape(self.title)}</b></p>" if self.title else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        head = f"<thead><tr>{row(self.columns, 'th')}</tr></thead>"
        return f"{title}<table>{head}<tbody>{body}</tbody></table>{notes}"

    def to_dict(self) -> dict:
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }

    __str__ = text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


class Report(ABC):
    """A finding: one sentence that says it, and the table that supports it.

    One that knows why ends with two lines, `cause: ...` and `fix: ...`.
    """

    cause = ""  # why, in one sentence
    fix = ""  # what to do, in one sentence

    @property
    @abstractmethod
    def headline(self) -> str:
        """The finding in one sentence."""

    @abstractmethod
    def table(self) -> Table:
        """The rows behind the finding."""

    @abstractmethod
    def to_dict(self) -> dict:
        """The finding as JSON-ready data."""

    def text(self) -> str:
        table = [self.table().text()] if self.table().rows else []
        return "\n".join([self.headline, *table, *self._advice()])

    def _advice(self) -> list[str]:
        said = (("cause", self.cause), ("fix", self.fix))
        return [f"{name}: {sentence}" for name, sentence in said if sentence]

    def html(self) -> str:
        table = self.table().html() if self.table().rows else ""
        advice = "".join(f"<p>{escape(line)}</p>" for line in self._advice())
        return f"<p><b>{escape(self.headline)}</b></p>{table}{advice}"

    def __str__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}
