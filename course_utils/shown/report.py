"""Tables and reports that read the same in a terminal, in JupyterLab and as data.

Nothing here computes; it only lays out what it was given.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape

from course_utils.shown import page
from course_utils.shown.page import State
from course_utils.shown.wrap import WIDTH, columns, wrapped


class Shown(ABC):
    """Something with a text form, for terminals and nbval, and an HTML form, for pages."""

    @abstractmethod
    def text(self) -> str:
        """What a terminal shows, and what stored outputs are compared by."""

    @abstractmethod
    def html(self) -> str:
        """What a page shows."""

    def __str__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


@dataclass(frozen=True)
class Note(Shown):
    """One sentence with a state, and lines that belong to it."""

    state: State
    sentence: str
    lines: tuple[str, ...] = ()

    def text(self) -> str:
        return wrapped("\n".join([self.sentence, *(f"  {line}" for line in self.lines)]))

    def html(self) -> str:
        return page.box(self.state, self.sentence, page.lines(self.lines))


@dataclass(frozen=True)
class Table(Shown):
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
        lines = columns([self.columns, *self.rows], width=WIDTH - 2)
        title = [wrapped(self.title)] if self.title else []
        return "\n".join([*title, *(f"  {line}" for line in lines), *map(wrapped, self.notes)])

    def html(self) -> str:
        title = f"<p><b>{escape(self.title)}</b></p>" if self.title else ""
        notes = "".join(f"<p>{page.marked(note)}</p>" for note in self.notes)
        return f"{title}{page.table(self.columns, self.rows)}{notes}"

    def to_dict(self) -> dict:
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }

    __str__ = text


class Report(Shown):
    """A finding: one sentence that says it, and the table that supports it.

    One that knows why ends with two lines, `cause: ...` and `fix: ...`.
    """

    cause = ""  # why, in one sentence
    fix = ""  # what to do, in one sentence

    state = State.PLAIN

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
        return "\n".join([wrapped(self.headline), *table, *map(wrapped, self._advice())])

    def brief(self) -> Note:
        """The finding alone, without its table."""
        return Note(self.state, self.headline)

    def _advice(self) -> list[str]:
        said = (("cause", self.cause), ("fix", self.fix))
        return [f"{name}: {sentence}" for name, sentence in said if sentence]

    def html(self) -> str:
        table = self.table().html() if self.table().rows else ""
        return page.box(self.state, self.headline, table + page.lines(tuple(self._advice())))
