"""The lessons as pages: the solved notebooks as they are stored, their answers behind a fold."""

import re
import shutil
from pathlib import Path

from nbformat import NotebookNode

from course_utils.exercises.outline import outline
from course_utils.files.repository import Repository
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.frame import START
from course_utils.notebook.lesson_source import ANSWER, SOLUTION

FOLDS = {ANSWER: "hide-input", SOLUTION: "hide-cell"}
PROMPTS = {"code_prompt_show": "Show an answer", "code_prompt_hide": "Hide the answer"}
HARNESS = {"code_prompt_show": "Show the code", "code_prompt_hide": "Hide the code"}
BADGE = re.compile(r"\[!\[([^]]*)\]\([^)]*\)\]")  # the picture of a badge is elsewhere
TO_PAPER = re.compile(r"\]\(\.\./docs/(\w+\.md)\)")
TO_LESSON = re.compile(r'(href="\d\d_\w+)\.ipynb"')


def stage_lessons(repository: Repository, target: Path) -> None:
    """Write a page for each lesson into `target`, and both notebooks that it offers."""
    unsolved, solved = target / "unsolved", target / "solved"
    for folder in (unsolved, solved):
        folder.mkdir(parents=True)
    for entry in outline():
        shutil.copy2(repository.student_path(entry.stem), unsolved)
        shutil.copy2(repository.solved_path(entry.stem), solved)
        notebook = read_notebook(repository.solved_path(entry.stem))
        for cell in notebook.cells:
            _fit(cell)
        _offer(notebook.cells[0], entry.stem)
        write_notebook(target / f"{entry.stem}.ipynb", notebook)


def _fit(cell: NotebookNode) -> None:
    """Fold answers and what the notebook folds; let links lead to pages."""
    if cell.cell_type == "markdown":
        cell.source = TO_PAPER.sub(r"](../\1)", cell.source)
    role = course_metadata(cell).get("role")
    if role in FOLDS:
        _fold(cell, FOLDS[role], PROMPTS)
    elif cell.metadata.get("jupyter", {}).get("source_hidden"):
        _fold(cell, "hide-input", HARNESS)
    for output in cell.get("outputs", []):
        if html := output.get("data", {}).get("text/html"):
            output.data["text/html"] = TO_LESSON.sub(r'\1.html"', html)


def _fold(cell: NotebookNode, tag: str, prompts: dict[str, str]) -> None:
    cell.metadata.setdefault("tags", []).append(tag)
    cell.metadata.mystnb = dict(prompts)


def _offer(cell: NotebookNode, stem: str) -> None:
    """Below the way through the course: the notebooks to take away, and where they open."""
    if cell.id != START:
        return
    downloads = " · ".join(
        f"{{download}}`{words} <{folder}/{stem}.ipynb>`"
        for words, folder in (
            ("Download the unsolved notebook", "unsolved"),
            ("the solved one", "solved"),
        )
    )
    cell.source = "\n\n".join((BADGE.sub(r"[\1]", cell.source), downloads))
