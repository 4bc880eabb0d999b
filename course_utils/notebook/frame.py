"""The cells that the build adds around every lesson: an introduction and the next step.

Everything in them is derived: from the outline, the symptom map and the project's address.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.exercises.outline import Entry, is_outlined, outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.notebook.address import badges, install_code

START, END, INSTALL = "frame-start", "frame-end", "frame-install"


@dataclass(frozen=True)
class FrameCell:
    """One cell around the lesson."""

    id: str
    kind: str
    text: str


def opening(stem: str) -> Iterator[FrameCell]:
    """The cells before the lesson: the way through the course, and its installation."""
    if not is_outlined(stem):
        return
    yield FrameCell(START, "markdown", "\n\n".join(filter(None, (_way(stem), badges(stem)))))
    if code := install_code():
        yield FrameCell(INSTALL, "code", code)


def closing(stem: str) -> Iterator[FrameCell]:
    """The cells after it: the next lesson, its symptoms, and one call for the reader's own run."""
    if not is_outlined(stem):
        return
    lessons = outline()
    at = [entry.stem for entry in lessons].index(stem)
    after = _link(lessons[at + 1]) if at + 1 < len(lessons) else f"{_map()}, and your own run"
    lines = ["---", f"**Next:** {after}"]
    own = [symptom for symptom in SYMPTOMS if symptom.lesson == stem]
    if own:
        lines += ["", "| when you see this in your own log | reach for |", "| --- | --- |"]
        lines += [f"| {symptom.seen} | `{symptom.instrument}` |" for symptom in own]
        calls = dict.fromkeys(symptom.call for symptom in own)
        lines += ["", "**On your own run**", "", "```python", *calls, "```"]
    yield FrameCell(END, "markdown", "\n".join(lines).strip())


def _way(stem: str) -> str:
    lessons = outline()
    at = [entry.stem for entry in lessons].index(stem)
    parts = [f"← {_link(lessons[at - 1])}"] if at else []
    if at:
        parts.append(_map())
    if at + 1 < len(lessons):
        parts.append(f"{_link(lessons[at + 1])} →")
    left = sum(entry.minutes for entry in lessons[at + 1 :])
    after = f"; {left} minutes of the course lie after it" if left else "; it is the last"
    place = f"lesson {lessons[at].number} (place {at + 1} of {len(lessons)})"
    parts.append(f"{place}, about {lessons[at].effort}{after}")
    return " · ".join(parts)


def _map() -> str:
    return f"[map of the course]({outline()[0].stem}.ipynb)"


def _link(entry: Entry) -> str:
    return f"[{entry.number} {entry.title}]({entry.stem}.ipynb)"
