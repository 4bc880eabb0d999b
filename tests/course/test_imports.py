"""The imports that README and lessons show work, those of today and those of earlier versions."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEFORE = Path(__file__).with_name("imports_before_the_rooms.txt").read_text().splitlines()
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def shown_today() -> list[str]:
    """`from a import b` for every name of the course that a lesson or a page imports."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    sources = [path.read_text() for path in sorted((ROOT / "solutions").glob("[0-9]*.py"))]
    sources += [block for page in pages for block in PYTHON_BLOCK.findall(page.read_text())]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").startswith("course_utils")]
    return sorted({f"from {node.module} import {a.name}" for node in ours for a in node.names})


def test_every_import_that_is_shown_works():
    for line in sorted({*shown_today(), *BEFORE}):
        exec(line, {})


def test_a_module_has_one_copy_under_both_of_its_names():
    code = """
import course_utils.plotting as old
import course_utils.shown.plotting as new
assert old is new
assert new.__spec__.name == new.__name__ == "course_utils.shown.plotting"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ["diagnostics", "gemma3", "numerics", "lesson"])
def test_no_module_of_a_room_hides_a_name_that_the_room_offers(room):
    """`room.name` is the function until a module of that name is imported; then it is that."""
    offered = importlib.import_module(f"course_utils.{room}")
    modules = {module.name for module in pkgutil.iter_modules(offered.__path__)}
    assert modules & set(offered.__all__) == set()


def test_an_unknown_module_is_still_not_found():
    with pytest.raises(ModuleNotFoundError, match="plotings"):
        importlib.import_module("course_utils.plotings")
