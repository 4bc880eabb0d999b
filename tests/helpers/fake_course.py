"""A course of two small lessons without torch, built once, and a fresh copy for every test."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from course_utils import exercises
from course_utils.commands.group import course as course_command
from course_utils.files.repository import Repository
from course_utils.notebook.derive import course_metadata
from course_utils.notebook.files import read_notebook, write_notebook

SOURCE = '''\
# %% [markdown]
# # A fake lesson

# %% tags=["parameters"]
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("90", strict=STRICT)

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.GUESS.predict(my_guess)

# %%
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    twice_the_value = 2 * x
    return twice_the_value
    ### END SOLUTION

# %%
ex.DOUBLE.check(double)

# %%
### BEGIN SOLUTION
limit = 65504
### END SOLUTION

# %%
ex.LIMIT.check(limit)

# %% tags=["solution"]
print("only in the solved lesson")

# %%
print("seed", SEED)
'''

OTHER_SOURCE = """\
# %% tags=["parameters"]
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("91", strict=STRICT)

# %%
### BEGIN SOLUTION
answer = 42
### END SOLUTION

# %%
ex.ANSWER.check(answer)
"""

EXERCISES = """\
from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise, Lesson, Prediction


def doubles(double):
    got = double(21)
    return None if got == 42 else f"21 became {got}"


def equals(wanted):
    return lambda got: None if got == wanted else f"got {got}"


def exercise(number, name, reads, expects, observe):
    criterion = Criterion("It is right.", observe, why="it matters", next="try again")
    return Exercise(
        id=number, name=name, title=name.title(), minutes=1, difficulty="one line", points=2,
        reads=reads, expects=expects, hints=("Look.", "Look again."), criteria=(criterion,),
        answer=None, time_limit_s=1,
    )


LESSON_90 = Lesson(
    stem="90_fake", title="Fake", minutes=1,
    exercises=(
        exercise("90.1", "DOUBLE", "double", (Callable,), doubles),
        exercise("90.2", "LIMIT", "limit", (int,), equals(65504)),
    ),
    predictions=(Prediction("90.a", "GUESS", "Which?", {"a": "this", "b": "that"}),),
)
LESSON_91 = Lesson(
    stem="91_other", title="Other", minutes=1,
    exercises=(exercise("91.1", "ANSWER", "answer", (int,), equals(42)),),
)
"""

ROOT = Path(__file__).parents[2]

# Python imports this when a kernel starts, if it is on PYTHONPATH: kernels know the lessons too.
SITECUSTOMIZE = """\
from course_utils import exercises

exercises.__path__.append({folder!r})
"""


# A worker that runs no kernel, to be set as course_utils.grading.worker.COMMAND.
FAKE_GRADER = (sys.executable, str(Path(__file__).with_name("fake_grader.py")))


def cli(*arguments: object) -> Result:
    """Run `course` in this process."""
    return CliRunner().invoke(course_command, [str(argument) for argument in arguments])


def edit(path, change) -> None:
    """Apply `change(notebook)` to the notebook at `path`."""
    notebook = read_notebook(path)
    change(notebook)
    write_notebook(path, notebook)


def cell_of(notebook, role, exercise=None):
    """The cell of a notebook that has this role."""
    wanted = {"role": role, "exercise": exercise} if exercise else {"role": role}
    [cell] = [cell for cell in notebook.cells if course_metadata(cell) == wanted]
    return cell


def answer(notebook, exercise, source) -> None:
    """Write `source` into the answer cell of an exercise."""
    cell_of(notebook, "answer", exercise).source = source


@pytest.fixture(scope="session")
def lessons_90_and_91(tmp_path_factory):
    """The fake lessons, known here and in every kernel."""
    folder = tmp_path_factory.mktemp("fake_exercises")
    for number in ("90", "91"):
        text = f"{EXERCISES}\nLESSON = LESSON_{number}\n"
        (folder / f"lesson_{number}.py").write_text(text)
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE.format(folder=str(folder)))
    return folder


def sources_in(root: Path, monkeypatch: pytest.MonkeyPatch, lessons: Path) -> Repository:
    """The sources only, in `root`, which is the course as long as `monkeypatch` holds."""
    monkeypatch.setattr(exercises, "__path__", [*exercises.__path__, str(lessons)])
    # This checkout's package in child processes too, whichever one is installed.
    monkeypatch.setenv("PYTHONPATH", f"{lessons}{os.pathsep}{ROOT}")
    monkeypatch.setenv("COURSE_ROOT", str(root))
    monkeypatch.setattr("course_utils.notebook.execute.LIBRARIES", ("papermill", "ipykernel"))
    repository = Repository(root)
    repository.solutions.mkdir(parents=True)
    repository.source_path("90_fake").write_text(SOURCE)
    repository.source_path("91_other").write_text(OTHER_SOURCE)
    return repository


BUILT = {}  # the root of the first build, which all later ones are copies of


def build(unbuilt: Repository, tmp_path_factory) -> Repository:
    """Add both notebooks of each lesson to the sources."""
    if not BUILT:
        result = cli("build")
        assert result.exit_code == 0, result.output
        BUILT["root"] = tmp_path_factory.mktemp("built") / "course"
        shutil.copytree(unbuilt.root, BUILT["root"])
    shutil.copytree(BUILT["root"], unbuilt.root, dirs_exist_ok=True)
    return unbuilt


@pytest.fixture
def unbuilt(tmp_path, monkeypatch, lessons_90_and_91) -> Repository:
    """The sources only."""
    return sources_in(tmp_path / "course", monkeypatch, lessons_90_and_91)


@pytest.fixture
def course(unbuilt, tmp_path_factory) -> Repository:
    """Sources and both notebooks of each lesson."""
    return build(unbuilt, tmp_path_factory)


# Test modules take them over by assignment: `lessons, unbuilt, course = fake_course.FIXTURES`.
FIXTURES = (lessons_90_and_91, unbuilt, course)
