"""The plan of the house: imports of `course_utils` run downwards, and nothing runs in a circle."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import course_utils

HOUSE = Path(course_utils.__file__).parent
# From the roof to the ground. A room imports from lower floors alone.
FLOORS = (
    ("commands",),
    ("grading", "concepts"),
    ("notebook",),
    ("lesson",),
    ("exercises",),
    ("oncall",),
    ("incidents", "checks"),
    ("reproductions",),
    ("diagnostics", "gemma3"),
    ("explain", "numerics", "zoo", "box"),
    ("causes", "files"),
    ("shown",),
    ("errors",),
)
MAX_NAMES_AT_THE_TOP = 20
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Files that are data: a colleague's own folder, and scripts that run in older versions.
DATA = ("oncall/templates/*/files/*", "reproductions/eras/scripts/*")
MODULES = {
    ".".join(path.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in HOUSE.rglob("*.py")
    if not any(path.relative_to(HOUSE).match(pattern) for pattern in DATA)
}


def imported(path: Path) -> set[str]:
    """The modules of the course that a module imports, also inside its functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in MODULES else node.module for name in whole}
    return names & set(MODULES)


@cache
def arrows() -> list[tuple[str, str]]:
    return [(name, other) for name, path in MODULES.items() for other in imported(path)]


def between_children(package: str) -> dict[str, set[str]]:
    """Which modules and rooms directly below a package import which others of them."""
    graph, start = defaultdict(set), f"{package}."
    for name, other in arrows():
        if name.startswith(start) and other.startswith(start):
            ours, theirs = (one.removeprefix(start).partition(".")[0] for one in (name, other))
            if ours != theirs:
                graph[ours].add(theirs)
    return graph


def test_every_name_at_the_top_has_a_floor():
    names = {name.split(".")[1] for name in MODULES if "." in name}
    assert names == set(FLOOR)
    assert len(names) <= MAX_NAMES_AT_THE_TOP
    assert {path.name for path in HOUSE.glob("*.py")} == {"__init__.py", "errors.py"}


def test_no_import_runs_up():
    rooms = {(a, b) for a, others in between_children("course_utils").items() for b in others}
    up = {f"{a} -> {b}" for a, b in rooms if FLOOR[a] >= FLOOR[b]}
    print(f"{len(FLOOR)} rooms, {len(rooms)} arrows, {len(up)} up")
    assert up == set()


def test_nothing_runs_in_a_circle():
    for package in (name for name, path in MODULES.items() if path.name == "__init__.py"):
        try:
            TopologicalSorter(between_children(package)).prepare()
        except CycleError as error:
            pytest.fail(f"{package}: {' -> '.join(error.args[1])}")
