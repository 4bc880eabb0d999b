"""What `course build` writes into the README: its badges, and the table of all lessons."""

import re

from course_utils.exercises.outline import outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.notebook.address import badges

REGION = re.compile(
    r"(<!-- (launch|lessons): written by course build -->\n).*?(?=<!-- end -->)", re.DOTALL
)


def filled(readme: str) -> str:
    """The README's text with what is written between its marks made anew."""
    first = badges(outline()[0].stem)
    parts = {"launch": f"{first}\n" if first else "", "lessons": f"\n{lessons()}\n\n"}
    return REGION.sub(lambda region: region[1] + parts[region[2]], readme)


def lessons() -> str:
    """A table with a row for each lesson: what its readers see, its title, its minutes."""
    rows = ["| what you see | lesson | minutes | solved |", "| --- | --- | --- | --- |"]
    for entry in outline():
        seen = "<br>".join(symptom.seen for symptom in SYMPTOMS if symptom.lesson == entry.stem)
        deeper = f" + {entry.deeper_minutes}" if entry.deeper_minutes else ""
        file = f"{entry.stem}.ipynb"
        rows.append(
            f"| {seen or 'how a lesson works'} | [{entry.title}](notebooks/{file}) "
            f"| {entry.minutes}{deeper} | [{entry.number}](solutions/{file}) |"
        )
    return "\n".join(rows)
