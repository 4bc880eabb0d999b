"""The pins, the declared ranges and the imports agree; importing the package is cheap."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import course_utils

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
APART = [Requirement(line) for line in EXTRAS.pop("bench")]  # an environment of its own
LISTED = chain(PROJECT["dependencies"], *EXTRAS.values())
DECLARED = {
    canonicalize_name(requirement.name): requirement
    for requirement in map(Requirement, LISTED)
    if requirement.name != PROJECT["name"]
}
LOCKED = dict(
    (canonicalize_name(name), version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.M
    )
)


def test_the_lock_holds_a_version_in_every_declared_range():
    outside = [n for n, wanted in DECLARED.items() if not wanted.specifier.contains(LOCKED[n])]
    assert outside == []


def test_the_lock_pins_every_line():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert len(lines) == len(LOCKED)


def test_conda_users_get_the_lock_itself_and_no_second_copy_of_a_pin():
    text = (ROOT / "environment.yml").read_text()
    assert "--constraint requirements.lock" in text and "--editable .[lab]" in text
    assert "==" not in text


owners_of_packages = cache(packages_distributions)  # it reads what all of them installed
LESSONS = ("course_utils/**/*.py", "solutions/[0-9]*.py")
EVERYTHING = (*LESSONS, "solutions/*.py", "tests/**/*.py", "benchmarks/**/*.py", "docs/site/*.py")


@cache
def imports_of(source: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names)


def imported_packages(patterns: tuple[str, ...] = EVERYTHING) -> set[str]:
    return set().union(*map(imports_of, chain.from_iterable(map(ROOT.glob, patterns))))


def imported_distributions(patterns: tuple[str, ...] = EVERYTHING) -> set[str]:
    owners = owners_of_packages()
    names = chain.from_iterable(owners.get(name, []) for name in imported_packages(patterns))
    return set(map(canonicalize_name, names))


def test_everything_imported_is_declared():
    helpers = {path.stem for path in (*ROOT.glob("tests/**/*"), *ROOT.glob("docs/site/*"))}
    helpers |= {path.stem for path in ROOT.glob("course_utils/oncall/templates/*/files/*.py")}
    helpers |= {path.stem for path in ROOT.glob("benchmarks/oncall/outsider/*.py")}
    locks = ROOT.glob("benchmarks/**/locks/*.txt")  # each its own environment
    apart = {path.stem for path in locks} | {one.name for one in APART}
    helpers |= {name.replace("-", "_") for name in apart}
    own = {"course_utils", "tests", "benchmarks", "__future__"} | helpers
    owners = owners_of_packages()
    for package in imported_packages() - own:
        names = {canonicalize_name(name) for name in owners[package]}
        assert names & set(DECLARED), f"{package} is imported and not declared"


def test_lessons_and_commands_import_only_what_they_come_with():
    others = {canonicalize_name(Requirement(line).name) for line in EXTRAS["site"] + EXTRAS["test"]}
    assert imported_distributions(LESSONS) & others == {PROJECT["name"]}


def test_the_library_alone_imports_without_what_the_extras_bring():
    hidden = ["jupyterlab", "ipykernel", "papermill", "jupytext", "nbclient", "nbval", "pytest"]
    parts = "course_utils.lesson, course_utils.diagnostics.guard.guard, course_utils.zoo.load"
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); import {parts}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_command_that_lacks_a_package_says_what_to_install():
    hide = "import sys; sys.modules['nbformat'] = None"
    code = f"{hide}; from course_utils.commands import main; main(['run', '00'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and "needs the package nbformat" in done.stderr
    assert done.stderr.endswith("fix: pip install 'brokenruns[lab]'\n")


def test_everything_declared_is_used():
    tools = {
        "jupyterlab",
        "ipykernel",
        "nbval",
        "ruff",
        "pytest-timeout",
        "pytest-xdist",
        "accelerate",
        "myst-nb",
        "sphinx-book-theme",
    }
    assert set(DECLARED) - imported_distributions() - tools == set()


def test_importing_the_package_imports_no_torch():
    parts = "course_utils, course_utils.zoo, course_utils.diagnostics, course_utils.numerics"
    code = f"import sys, {parts}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of third-party packages, on import
def test_every_module_imports():
    names = [m.name for m in pkgutil.walk_packages(course_utils.__path__, "course_utils.")]
    assert len(names) > 20
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)


def test_a_wrong_python_is_told_in_one_sentence(tmp_path):
    old = tmp_path / "python3"
    pretend = "import sys; sys.version_info = (3, 9); exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{pretend}" "$2"\n')
    old.chmod(0o755)
    (tmp_path / "requirements.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    command = ["make", "-f", str(ROOT / "Makefile"), f"PYTHON={old}", "build"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13, and" in done.stderr
