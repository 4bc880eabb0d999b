"""Measures the course's pages in JupyterLab as a table; with FOLDER, before and after.

`python -m benchmarks.course.pages [FOLDER] > docs/pages.md`, from the top of the repository. FOLDER
is an older checkout, such as `git worktree add FOLDER COMMIT` makes.
"""

import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode

from course_utils.notebook.files import read_notebook
from tests.helpers.lab_pages import (
    CONTRAST,
    DARK,
    LIGHT,
    axe_findings,
    look,
    open_notebook,
    screens,
    set_theme,
    write_plain,
)
from tests.helpers.lab_server import browser_page, lab_on

ROOT = Path(__file__).parents[2]
PLAIN = "plain"
HARNESS = re.compile(r"\b(verdicts\.|expect_|plotting\.|plt\.)")
TAG = re.compile(r"<[^>]+>")
COLUMNS = (
    "lesson",
    "words",
    "figures",
    "first figure at cell",
    "most words without a figure",
    "screens",
    "folded / harness / code cells",
)
INTRO = """\
# What the pages look like

Measured with `python -m benchmarks.course.pages FOLDER > docs/pages.md`: the solved notebooks, not
trusted, in JupyterLab and Chromium, window 1180 x 900. Words are those of text cells. A harness
cell judges, expects or draws; one that does nothing else is folded, and one click opens it. A
screen is the height of the notebook's panel."""
AXE = """\
## What axe-core objects to

Elements in all notebooks together, by rule. JupyterLab has findings of its own in any notebook
(a cell's editor has no name); their rules are marked *. Structure is the same in both themes,
contrast is measured in each."""


@dataclass(frozen=True)
class Page:
    """One lesson as a reader meets it."""

    text: tuple[object, ...]  # what can be counted without a browser, a column each
    screens: float
    folds: str
    axe: Counter


def has_figure(cell: NotebookNode) -> bool:
    """Whether a cell shows a picture, from its own image or by `<figure>`."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in d or "<figure" in str(d.get("text/html", "")) for d in data)


def in_words(notebook: NotebookNode) -> tuple[object, ...]:
    """Words, figures, the first figure's place, the longest stretch of words without a figure."""
    stretches, figures = [0], []
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "markdown":
            stretches[-1] += len(TAG.sub(" ", cell.source).split())
        elif has_figure(cell):
            figures.append(number)
            stretches.append(0)
    first = f"{figures[0]} of {len(notebook.cells)}" if figures else "none"
    return sum(stretches), len(figures), first, max(stretches)


def folds(notebook: NotebookNode) -> str:
    """How many code cells are folded, how many are harness, and how many there are."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    folded = [cell for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    harness = [cell for cell in code if HARNESS.search(cell.source)]
    return f"{len(folded)} / {len(harness)} / {len(code)}"


def pages(course: Path) -> dict[str, Page]:
    """Every lesson of the course in a folder, by its number; PLAIN is JupyterLab without ours."""
    with TemporaryDirectory() as scratch, browser_page() as page:
        copy = Path(scratch) / "course"
        for name in ("notebooks", "solutions"):
            shutil.copytree(course / name, copy / name)
        write_plain(copy / "solutions" / f"{PLAIN}.ipynb")
        with lab_on(copy) as address:
            return {
                path.stem if path.stem == PLAIN else path.name[:2]: _page(page, address, path)
                for path in sorted((copy / "solutions").glob("*.ipynb"))
            }


def _page(page, address: str, path: Path) -> Page:
    notebook = read_notebook(path)
    open_notebook(page, address, f"solutions/{path.name}")
    look(page, width=1180)
    height, axe = screens(page), Counter(axe_findings(page))
    set_theme(page, DARK)
    axe.update({f"{rule}, dark theme": n for rule, n in axe_findings(page, **CONTRAST).items()})
    set_theme(page, LIGHT)
    return Page(in_words(notebook), height, folds(notebook), axe)


def markdown_table(columns: tuple[str, ...], rows: list[tuple]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def lessons(found: dict[str, Page]) -> str:
    """One row per lesson."""
    rows = [
        (number, *page.text, round(page.screens), page.folds)
        for number, page in found.items()
        if number != PLAIN
    ]
    return markdown_table(COLUMNS, rows)


def objections(states: dict[str, dict[str, Page]]) -> str:
    """Objections by rule, with a column for each state of the course."""
    labs_own = {rule for found in states.values() for rule in found[PLAIN].axe}
    sums = {
        name: sum((page.axe for number, page in found.items() if number != PLAIN), Counter())
        for name, found in states.items()
    }
    rules = sorted(set().union(*sums.values()))
    rows = [
        (f"{rule} *" if rule in labs_own else rule, *(counts[rule] for counts in sums.values()))
        for rule in rules
    ]
    return markdown_table(("rule", *sums), rows)


def name_with_commit(name: str, course: Path) -> str:
    """A name with the commit that was measured."""
    command = ("git", "-C", str(course), "rev-parse", "--short", "HEAD")
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return f"{name} ({commit or 'no commit'})"


def main(older: Path | None) -> None:
    courses = ({"before": older} if older else {}) | {"now": ROOT}
    states = {name_with_commit(name, course): pages(course) for name, course in courses.items()}
    print(INTRO)
    for name, found in states.items():
        print(f"\n## {name.capitalize()}\n\n{lessons(found)}")
    print(f"\n{AXE}\n\n{objections(states)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
