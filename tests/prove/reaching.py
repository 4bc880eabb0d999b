"""Which modules check or judge, and which tests reach them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXERCISE_ID = re.compile(r'"(\d\d\.\d+)"')
# Their cases begin with the number of an exercise.
BY_EXERCISE = ("test_exercises.py", "test_one_trick.py", "test_judge.py")


@dataclass(frozen=True)
class Room:
    """Modules that check or judge, and where the tests are that reach them.

    Args:
        weight: how many of its mutants are drawn, beside those of the other rooms.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    weight: int = 1


EXERCISES = Room(
    "exercises",
    ("course_utils/exercises/lesson_*.py", "course_utils/exercises/lesson_*/[!_]*.py"),
    ("tests/exercises/test_*.py", "tests/grading/test_judge.py"),
    weight=3,
)
ROOMS = (
    EXERCISES,
    Room(
        "checks",
        ("course_utils/checks/[!_]*.py",),
        ("tests/checks/test_*.py", "tests/exercises/test_*.py"),
    ),
    Room(
        "grading",
        (
            "course_utils/grading/judge/[!_]*.py",
            "course_utils/grading/one_submission.py",
            "course_utils/grading/result.py",
        ),
        ("tests/grading/test_*.py",),
    ),
    Room(
        "oncall",
        tuple(
            f"course_utils/oncall/{name}.py"
            for name in ("check", "judging", "measuring", "report", "result", "spread")
        ),
        ("tests/oncall/test_*.py",),
    ),
)


def reaching(room: Room, path: str) -> list[str]:
    """Pytest's arguments for the tests that reach a module.

    These are its own examples, and the files of the room's tests that are nearest to it. Of tests
    that go through exercises only the module's own are run, or its lesson's; for another room,
    those of the first module in each lesson that imports it or, if none does, that there is.
    """
    files = files_of(room.tests)
    if room is EXERCISES:
        asked = _exercises(path)
    else:
        every = [file for file in files_of(EXERCISES.modules) if _exercises(file)]
        first: dict[str, Path] = {}
        for file in [file for file in every if _imports(file, path)] or every:
            first.setdefault(lesson_of(file), file)
        asked = [one for file in first.values() for one in _exercises(file)]
    near = _nearest(path, [file for file in files if file.name not in BY_EXERCISE])
    chosen = [file for file in files if file in near or file.name in BY_EXERCISE]
    numbers = [f"[{one}{end}" for one in asked for end in "-]"] or [f"[{lesson_of(path)}."]
    names = (Path(path).name, *(file.name for file in near), *numbers)
    return [path, *(str(file.relative_to(ROOT)) for file in chosen), "-k", " or ".join(names)]


def _nearest(path: str, files: list[Path]) -> list[Path]:
    """The files that import a module; else those that import what imports it, and so on."""
    modules = files_of(["/".join((*Path(path).parts[:2], "**", "*.py"))])
    ring, seen = {path}, {path}
    while ring:
        if near := [file for file in files if any(_imports(file, one) for one in ring)]:
            return near
        ring = {
            str(module.relative_to(ROOT))
            for module in modules
            if any(_imports(module, one) for one in ring)
        } - seen
        seen |= ring
    return files


def files_of(globs: Iterable[str]) -> list[Path]:
    return sorted({path for glob in globs for path in ROOT.glob(glob)})


def _imports(file: Path, path: str) -> bool:
    package, module = ".".join(Path(path).parent.parts), Path(path).stem
    listed = rf"import (\([^)]*|[^\n]*)\b{module}\b"
    return bool(re.search(rf"\b{package}(\.{module}\b| {listed})", file.read_text()))


def _exercises(file: str | Path) -> list[str]:
    return EXERCISE_ID.findall((ROOT / file).read_text())


def lesson_of(path: str | Path) -> str:
    return re.search(r"lesson_(\d\d)", str(path))[1]
