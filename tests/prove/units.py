"""What the proof of everything is made of: commands that can run side by side, in any order.

Nothing is named here that grows: a new test file, lesson or era is part of it by being there.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.exercises.outline import outline
from course_utils.reproductions.eras import ERAS
from tests.helpers.by_lesson import FILES as BY_LESSON
from tests.helpers.by_lesson import NONE, OF_NONE
from tests.prove.sources import ROOT
from tests.stacks.declare import STACKS

PYTEST = (sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider")
NBVAL = ("--nbval", "--nbval-cell-timeout=300", "--nbval-sanitize-with=tests/nbval.cfg")
# Of a lesson whose right answers all train, none is left for what `make test` runs.
MAY_BE_EMPTY = ("-o", "empty_parameter_set_mark=skip")
COURSE = (sys.executable, "-c", "from course_utils.commands import main; main()")
WHOLE = {"PROVE": "1"}
# What a processor without AVX-512 computes with.
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
LESSONS = tuple(entry.number for entry in outline())


@dataclass(frozen=True)
class Unit:
    """One proof: a command that exits with 0 where it holds.

    Args:
        kind: its row in the table.
        env: what is added to the environment.
        reads_all: it reads every source, by other means than Python.
    """

    kind: str
    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    reads_all: bool = False

    @property
    def is_pytest(self) -> bool:
        return self.command[: len(PYTEST)] == PYTEST


def units() -> list[Unit]:
    """All of them."""
    return [*_tests(), *_lessons(), *_others()]


def _tests() -> Iterator[Unit]:
    """Every test file with all of its cases, and the examples in the docstrings of each room."""
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        name = str(path.relative_to(ROOT))
        if name in BY_LESSON:  # each lesson is a proof of its own; "none" is what is of none
            for lesson in (*LESSONS, *([NONE] if name in OF_NONE else ())):
                command = (*PYTEST, name, f"--lesson={lesson}")
                yield Unit("tests, all cases", f"{name} {lesson}", command, WHOLE)
        else:
            yield Unit("tests, all cases", name, (*PYTEST, name), WHOLE)
    for path in sorted(ROOT.glob("course_utils/*/__init__.py")):
        name = str(path.parent.relative_to(ROOT))
        if any(">>> " in module.read_text("utf-8") for module in path.parent.rglob("*.py")):
            yield Unit("examples in docstrings", name, (*PYTEST, name))


def _lessons() -> Iterator[Unit]:
    """Every solved lesson, compared with its stored outputs, on older kernels too."""
    for entry in outline():
        notebook = f"solutions/{entry.stem}.ipynb"
        yield Unit("solved lessons", notebook, (*PYTEST, *NBVAL, notebook))
        on_avx2 = f"{notebook} on AVX2"
        yield Unit("solved lessons on AVX2 kernels", on_avx2, (*PYTEST, *NBVAL, notebook), AVX2)
    for lesson in LESSONS:
        name = f"exercises {lesson} on AVX2"
        command = (*PYTEST, *MAY_BE_EMPTY, "tests/exercises/test_exercises.py")
        command += (f"--lesson={lesson}",)
        yield Unit("exercises on AVX2 kernels", name, command, AVX2)


def _others() -> Iterator[Unit]:
    """Tickets, older stacks, a whole class, the mutants, the style, what is generated."""
    python = (sys.executable, "-m")
    yield Unit("tickets, three seeds", "oncall", (*python, "benchmarks.oncall.proofs"))
    for era in ERAS:
        yield Unit("older stacks", f"era {era.number}", (*COURSE, "era", era.number))
    for name in (*(stack.name for stack in STACKS), "pythons"):
        command = (*python, "tests.stacks", name)
        yield Unit("instruments on other stacks", f"stack {name}", command)
    yield Unit("a class of 1,000", "class", (*python, "benchmarks.grading.whole_class", "1000"))
    yield Unit("mutants", "mutants", (*python, "tests.prove.mutants"), reads_all=True)
    ruff = str(Path(sys.executable).with_name("ruff"))
    yield Unit("style", "ruff check", (ruff, "check", "."), reads_all=True)
    yield Unit("style", "ruff format", (ruff, "format", "--check", "."), reads_all=True)
    yield Unit("generated files", "build", (*COURSE, "build", "--check"))
