"""A figure as a page can show it: sharp, with an alt text and a caption; text for terminals.

Every renderer ignores a figure's alt metadata; an <img> keeps its alt, in an untrusted notebook
too. The text form is the caption, so nbval guards the finding and not the pixels.
"""

import base64
import io
from html import escape

from matplotlib.figure import Figure

from course_utils.report import Shown
from course_utils.wrap import wrapped

MAX_NAMED = 6


class Picture(Shown):
    """`fig` with a caption that says what it means and an alt text that says what is seen."""

    def __init__(self, fig: Figure, *, caption: str, alt: str) -> None:
        fig.set_facecolor("white")  # readable on a dark page as well
        buffer = io.BytesIO()
        fig.savefig(buffer, format="png", dpi=200)  # shown at half of that: sharp on any screen
        self._width = round(fig.get_figwidth() * 100)
        self._png = base64.b64encode(buffer.getvalue()).decode()
        self._caption, self._alt = caption, alt

    def text(self) -> str:
        return wrapped(f"Figure: {self._caption}")

    def html(self) -> str:
        source = f"data:image/png;base64,{self._png}"
        image = f'<img alt="{escape(self._alt)}" width="{self._width}" src="{source}">'
        return f"<figure>{image}<figcaption>{escape(self._caption)}</figcaption></figure>"


def describe(fig: Figure) -> str:
    """What is seen in `fig`, axes by axes: title, axes with their ranges, and the words in it.

    >>> fig = Figure()
    >>> ax = fig.subplots()
    >>> _ = ax.plot([0, 1], [2, 3], label="loss")
    >>> _ = ax.set(xlabel="step", ylabel="nats", title="It rises")
    >>> describe(fig)
    'It rises. x: step, 0 to 1; y: nats, 2 to 3. Shown: loss.'
    """
    return " ".join(_axes(ax) for ax in fig.axes if ax.get_visible())


def _axes(ax) -> str:
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    spans = []
    for name, label, data in (
        ("x", ax.get_xlabel(), [x for line in lines for x in line.get_xdata()]),
        ("y", ax.get_ylabel(), [y for line in lines for y in line.get_ydata()]),
    ):
        numbers = [float(n) for n in data if n == n and abs(float(n)) != float("inf")]
        span = f", {min(numbers):.3g} to {max(numbers):.3g}" if numbers else ""
        if label or span:
            spans.append(f"{name}: {label}{span}".replace(": ,", ":"))
    names = [line.get_label() for line in lines if not line.get_label().startswith("_")]
    words = dict.fromkeys(names + [t.get_text().replace("\n", " ") for t in ax.texts])
    said = [word for word in words if word.strip()][:MAX_NAMED]
    title = f"{ax.get_title()}." if ax.get_title() else ""
    parts = [title, f"{'; '.join(spans)}." if spans else "", f"Shown: {', '.join(said)}."]
    return " ".join(part for part in (parts if said else parts[:2]) if part)
