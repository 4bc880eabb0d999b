"""Turns a figure into a sharp picture with alt text and caption, and text for terminals.

Every renderer ignores a figure's alt metadata; an <img> keeps its alt, in an untrusted notebook
too. The text form is the caption, so nbval guards the finding and not the pixels.
"""

import base64
import io
from html import escape

from matplotlib.figure import Figure

from course_utils.shown.report import Shown
from course_utils.shown.wrap import wrapped


class Picture(Shown):
    """`fig` with a caption that says its meaning, and an alt text that describes it."""

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
