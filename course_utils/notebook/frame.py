"""The cells that the build puts around every lesson: the way in and the way on.

Everything in them is derived: from the outline, the symptom map and the project's address.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_utils import __version__
from course_utils.exercises.outline import Entry, is_outlined, outline
from course_utils.symptoms import SYMPTOMS

START, END, INSTALL = "frame-start", "frame-end", "frame-install"

INSTALLS = """\
# Installs the course at this notebook's own version, where it is missing; nothing otherwise.
import importlib.util

if importlib.util.find_spec("course_utils") is None:
    %pip install --quiet "course-utils @ {address}\""""


@dataclass(frozen=True)
class FrameCell:
    """One cell around the lesson."""

    id: str
    kind: str
    text: str


def opening(stem: str) -> Iterator[FrameCell]:
    """What stands before the lesson: the way through the course, and the course itself."""
    if not is_outlined(stem):
        return
    yield FrameCell(START, "markdown", _way(stem))
    if address := public_address():
        yield FrameCell(INSTALL, "code", INSTALLS.format(address=f"git+{address}@v{__version__}"))


def closing(stem: str) -> Iterator[FrameCell]:
    """What stands after it: the next lesson, its symptoms, and one call for one's own run."""
    if not is_outlined(stem):
        return
    lessons = outline()
    at = [entry.stem for entry in lessons].index(stem)
    lines = ["---", f"**Next:** {_link(lessons[at + 1])}" if at + 1 < len(lessons) else ""]
    own = [symptom for symptom in SYMPTOMS if symptom.lesson == stem]
    if own:
        lines += ["", "| when you see this in your own log | reach for |", "| --- | --- |"]
        lines += [f"| {symptom.seen} | `{symptom.instrument}` |" for symptom in own]
        calls = dict.fromkeys(symptom.call for symptom in own)
        lines += ["", "**On your own run**", "", "```python", *calls, "```"]
    yield FrameCell(END, "markdown", "\n".join(lines).strip())


@cache
def public_address() -> str | None:
    """The project's repository, from `[project.urls]`; None while it has no public address."""
    path = Path(__file__).parents[2] / "pyproject.toml"
    if not path.exists():
        return None
    urls = tomllib.loads(path.read_text(encoding="utf-8"))["project"].get("urls", {})
    return urls.get("Repository")


def _way(stem: str) -> str:
    lessons = outline()
    at = [entry.stem for entry in lessons].index(stem)
    parts = [f"← {_link(lessons[at - 1])}"] if at else []
    if at:
        parts.append(f"[map of the course]({lessons[0].stem}.ipynb)")
    if at + 1 < len(lessons):
        parts.append(f"{_link(lessons[at + 1])} →")
    left = sum(entry.minutes for entry in lessons[at + 1 :])
    after = f"; {left} minutes of the course lie after it" if left else "; it is the last"
    parts.append(f"lesson {at + 1} of {len(lessons)}, about {lessons[at].minutes} minutes{after}")
    return " · ".join(parts)


def _link(entry: Entry) -> str:
    return f"[{entry.number} {entry.title}]({entry.stem}.ipynb)"
