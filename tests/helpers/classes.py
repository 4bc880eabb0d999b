"""Classes of students of the fake course, as folders in the form of teaching platforms."""

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attacks import notebooks
from fake_course import FAKE_GRADER

# `course` with the grader that runs no kernel, for a separate process.
COURSE = (
    sys.executable,
    "-c",
    f"from course_utils.grading import worker; worker.COMMAND = {FAKE_GRADER!r}; "
    "from course_utils.commands import main; main()",
)
GRADE = ("grade", "--no-sandbox")  # nothing is executed, so the tests need no box
RIGHT = (("return TODO", "return x + x  #"), ("limit = TODO", "limit = 65504"))
ATTACKS = [one for one in notebooks.ALL if one.is_small and not one.is_repaired]
# What else may stand in a submission; see fake_grader.
FAULTS = {"# DIE": "the grader failed", "# RAISE": "the grader failed", "# DIE ONCE": "grade"}


def notebook(course, *, right: int = 2, added: str = "") -> dict:
    """A student's notebook of lesson 90 with that many right answers and one cell more."""
    data = json.loads(course.student_path("90_fake").read_text())
    for cell in data["cells"]:
        cell["source"] = "".join(cell["source"])
        for stub, answer in RIGHT[:right]:
            cell["source"] = cell["source"].replace(stub, answer)
    if added:
        extra = {"cell_type": "code", "id": "added", "metadata": {}, "outputs": []}
        data["cells"].append(extra | {"source": added, "execution_count": None})
    return data


def address_in(known: Path, within_s: float = 60) -> str:
    """Where a Dask scheduler listens, once it has written so into the file `known`.

    The file is there for a moment before what it says.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError, KeyError):
            return json.loads(known.read_text())["address"]
        time.sleep(0.05)
    raise AssertionError(f"no scheduler has written {known} within {within_s:g} s")


def hand_in(path: Path, data: dict) -> None:
    """Write one submission."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def random_class(
    folder: Path,
    make: Callable[..., dict],
    *,
    size: int,
    seed: int,
    faults: dict[str, str] = FAULTS,
    max_right: int = 2,
) -> dict[str, str]:
    """`size` students, a third of them with a fault; returns the kind of result each must get.

    Args:
        make: makes a notebook with `right` right answers and the cell `added`.
        faults: cells that a submission may have, with the kind of result each leads to.
    """
    draw, wanted = random.Random(seed), {}
    for number in range(size):
        student, kind = f"s{number:04d}", draw.random()
        path = folder / student / "n.ipynb"
        if kind < 0.1:
            fault = draw.choice(list(faults))
            hand_in(path, make(added=fault))
            wanted[student] = faults[fault]
        elif kind < 0.33:
            attack = draw.choice(ATTACKS)
            path.parent.mkdir(parents=True)
            attack.write(path, make())
            wanted[student] = notebooks.CANNOT if attack.points is None else "grade"
        else:
            hand_in(path, make(right=draw.randint(0, max_right)))
            wanted[student] = "grade"
    return wanted
