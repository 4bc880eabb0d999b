"""Every lesson, unsolved, on its fewest steps and with every cell run twice; solved, on more seeds.

`make test` takes the first lesson, `make prove` all.
"""

from itertools import product
from pathlib import Path

import pytest
from course_command import ROOT, course
from nbformat import v4
from whole import cases

from course_utils.exercises import find_lesson
from course_utils.exercises.outline import outline
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.notebook.execute import Job, Limits, execute
from course_utils.notebook.files import read_notebook, write_notebook
from course_utils.notebook.parameters import PARAMETERS

LIMITS = Limits(cell_s=300, notebook_s=1200)
STEMS = [entry.stem for entry in outline()]
SEEDS = (1, 2, 3, 4)  # nbval runs the solved lessons on 0
AGAIN = "get_ipython().run_cell({source!r}).raise_error()"

# Whole notebooks run here; each has its own limits inside.
pytestmark = pytest.mark.timeout(1500)


def with_every_cell_twice(source: Path, target: Path) -> int:
    """Write a copy of a notebook that runs each code cell twice; returns the cells' number.

    A reader runs a cell again when she has changed something, or after an interrupt.
    """
    notebook, cells = read_notebook(source), []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code" and PARAMETERS not in cell.metadata.get("tags", []):
            cells.append(v4.new_code_cell(AGAIN.format(source=cell.source)))
    notebook.cells = cells
    write_notebook(target, notebook)
    return len(cells)


def executed(source: Path, folder: Path, number: int, parameters: dict) -> Progress:
    """The progress that a notebook of so many cells leaves, which must run to its end."""
    progress = folder / "progress.json"
    job = Job(
        name=source.stem,
        source=source,
        target=folder / "executed.ipynb",
        folder=folder,
        num_cells=number,
        parameters=parameters,
        env={ENV_NAME: str(progress)},
    )
    [execution] = execute([job], LIMITS, lambda job, cell: None)
    assert not execution.problems
    return Progress(progress)


@pytest.mark.parametrize("stem", cases(STEMS))
def test_an_unsolved_lesson_runs_to_its_end_also_with_every_cell_run_twice(stem, tmp_path):
    doubled = tmp_path / f"{stem}.ipynb"
    number = with_every_cell_twice(ROOT / "notebooks" / f"{stem}.ipynb", doubled)
    progress = executed(doubled, tmp_path, number, {"FAST": True})
    known = [progress.exercise(e.id) for e in find_lesson(stem).exercises]
    assert {entry["outcome"] for entry in known} == {"not attempted"}
    assert sum(entry["best"] for entry in known) == 0


@pytest.mark.parametrize(("stem", "seed", "fast"), cases(product(STEMS, SEEDS, (False, True))))
def test_an_unsolved_lesson_runs_to_its_end_on_another_seed(stem, seed, fast, tmp_path):
    source = ROOT / "notebooks" / f"{stem}.ipynb"
    parameters = {"SEED": seed, "FAST": fast}
    executed(source, tmp_path, len(read_notebook(source).cells), parameters)


@pytest.mark.parametrize(("stem", "seed", "fast"), cases(product(STEMS, SEEDS, (False, True))))
def test_a_solved_lesson_runs_to_its_end_on_another_seed(stem, seed, fast, tmp_path):
    source = ROOT / "solutions" / f"{stem}.ipynb"
    parameters = {"SEED": seed, "FAST": fast}
    progress = executed(source, tmp_path, len(read_notebook(source).cells), parameters)
    lost = [e for e in find_lesson(stem).exercises if progress.exercise(e.id)["best"] < e.points]
    assert [e.id for e in lost] == []


def test_strict_stops_at_the_first_check_that_is_not_passed(tmp_path):
    done = course("run", "00", "-p", "STRICT", "true", "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "not attempted" in done.stdout


def test_a_solved_lesson_gets_full_marks_from_the_command(tmp_path):
    done = course("grade", "solutions/00_start_here.ipynb", "--json", str(tmp_path / "grade.json"))
    assert done.returncode == 0, done.stdout + done.stderr
