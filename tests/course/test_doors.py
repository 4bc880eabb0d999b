"""Every room has a README of one screen; what it and CONTRIBUTING name exists."""

import re
from pathlib import Path

import pytest

import course_utils

HOUSE = Path(course_utils.__file__).parent
ROOT = HOUSE.parent
ROOMS = sorted(path.parent for path in HOUSE.glob("*/__init__.py"))
READMES = [room / "README.md" for room in (HOUSE, *ROOMS)]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DOORS = [
    *READMES,
    *(ROOT / folder / "README.md" for folder in ("tests", "benchmarks")),
    CONTRIBUTING,
]
MOST_LINES, MOST_COLUMNS, MOST_OF_A_RECIPE = 45, 100, 8
RECIPES = (
    "Add an exercise",
    "Add an incident",
    "Add a ticket",
    "Add a cause, with its rule or look",
    "Add an instrument",
)
MADE = ("build/", ".venv/")  # not part of the repository
PATH = re.compile(r"[\w.*-]+(/[\w.*-]*)+|[\w*-]+\.(py|md|json|txt|toml|yml|ipynb)")
PLACEHOLDER = re.compile(r"NN|NAME|THREAD|ROOM")

each_readme = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)


def words_in_backticks(text: str) -> list[str]:
    quoted = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [word for one in quoted for word in one.split()]


def missing_paths(page: Path) -> set[str]:
    """The paths in backticks that name nothing in the page's room, nor from the root."""
    words = {word for word in words_in_backticks(page.read_text()) if PATH.fullmatch(word)}
    return {word for word in words if not word.startswith(MADE) and not exists(word, page.parent)}


def exists(path: str, folder: Path) -> bool:
    """Whether it does; a placeholder stands for any name.

    >>> exists("solutions/NN_NAME.py", ROOT), exists("solutions/NAME.rs", ROOT)
    (True, False)
    """
    pattern = PLACEHOLDER.sub("*", path).rstrip("/")
    return any(ROOT.glob(pattern)) or (folder != ROOT and any(folder.rglob(pattern)))


def after(mark: str, text: str) -> str:
    """The paragraph that begins with a mark in bold."""
    found = re.findall(rf"^\*\*{mark}:\*\* (.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{len(found)} paragraphs begin with **{mark}:**"
    return found[0]


@each_readme
def test_a_readme_is_one_screen(readme):
    lines = readme.read_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > MOST_COLUMNS] == []


@each_readme
def test_a_readme_says_what_the_room_never_does_and_has_an_example(readme):
    text = readme.read_text()
    assert after("Never", text)
    example = words_in_backticks(after("Example to copy", text))
    assert any(PATH.fullmatch(word) for word in example)


@pytest.mark.parametrize("page", DOORS, ids=lambda page: page.parent.name)
def test_every_path_that_a_door_names_exists(page):
    assert missing_paths(page) == set()


@pytest.mark.parametrize("page", DOORS, ids=lambda page: page.parent.name)
def test_every_target_of_make_that_a_door_names_exists(page):
    made = re.findall(r"`make ([a-z -]+)`", page.read_text())
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {target for one in made for target in one.split()} <= set(targets)


def test_a_path_that_is_missing_is_found(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("`there/NAME.py` `gone.py` `gone/` `pytest tests/gone -k a` `course_utils/`")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "one.py").touch()
    assert missing_paths(page) == {"gone.py", "gone/", "tests/gone"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_short_names_its_files_its_proof_and_where_more_stands(recipe):
    text = CONTRIBUTING.read_text()
    assert text.count(f"\n## {recipe}\n") == 1
    body = text.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0].strip()
    assert len(body.splitlines()) <= MOST_OF_A_RECIPE
    assert re.match("Files?: ", body) and "Prove it: `" in body
    assert re.search(r"In full: `course_utils/\w+/README.md`", body)
