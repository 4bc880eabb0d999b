"""What a folder of submissions may hold, and names that reach a page or a table."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HTML = "<script>alert(1)</script>"
# Students' ids, which are file names: nearly every byte may stand in one.
NAMES = (
    "=cmd|' !A0",
    "+1+cmd",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "%0A=1",
    "|pipe",
    HTML.replace("/", ""),
    '"><img src=x onerror=alert(1)>',
    "a' onmouseover='x",
    "&lt;b&gt;",
    "new\nline",
    "red\x1b[31m",
    "\u202egnp.exe",
    "bell\x07",
    "no\u200bwidth",
    "ada",
    "Ada",
    "ada ",
    "..ada",
    "CON",
    "x" * 200,
    "\u00e9",
    "e\u0301",
    "{0.__class__}",
    "%s%n",
    "$(touch mine)",
    "; touch mine",
    "]]>",
    'a,b"c',
)


@dataclass(frozen=True)
class Attack:
    """`make(folder, right)` puts something beside the students; `right` are a notebook's bytes."""

    name: str
    make: Callable[[Path, bytes], object]
    submissions: int  # how many results it must lead to
    grades: int = 0  # how many of them are grades


def _file(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _linked_folder(folder: Path, right: bytes) -> None:
    _file(folder.parent / "elsewhere" / "n.ipynb", right)
    (folder / "link").symlink_to(folder.parent / "elsewhere")


def _link_in_a_folder(folder: Path, right: bytes) -> None:
    (folder / "ada").mkdir()
    (folder / "ada" / "n.ipynb").symlink_to("/etc/passwd")


def _folder_loop(folder: Path, right: bytes) -> None:
    _file(folder / "ada" / "n.ipynb", right)
    (folder / "ada" / "again").symlink_to(folder)


def _hard_link(folder: Path, right: bytes) -> None:
    _file(folder.parent / "secret.txt", b"the grader's secret")
    (folder / "ada").mkdir()
    os.link(folder.parent / "secret.txt", folder / "ada" / "n.ipynb")


def _pipe(folder: Path, right: bytes) -> None:
    (folder / "ada").mkdir()
    os.mkfifo(folder / "ada" / "n.ipynb")


def _deep(folder: Path, right: bytes) -> None:
    _file(folder.joinpath("ada", *["d"] * 40, "n.ipynb"), right)


def _many(folder: Path, right: bytes) -> None:
    for number in range(60):
        _file(folder / "ada" / f"{number}.ipynb", b"{}")


def _hidden(folder: Path, right: bytes) -> None:
    for name in (".git/n.ipynb", ".ipynb_checkpoints/n.ipynb", "__MACOSX/._n.ipynb", ".n.ipynb"):
        _file(folder / "ada" / name, right)


def _results_of_its_own(folder: Path, right: bytes) -> None:
    for name in ("results/ada.json", "known/x.json", "grades.csv", ".grading.lock"):
        _file(folder / "ada" / name, b'{"points": 100}')
    _file(folder / "ada" / "n.ipynb", right)


def _names_that_are_no_text(folder: Path, right: bytes) -> None:
    os.mkdir(os.fsencode(folder) + b"/\xff\xfe")
    with open(os.fsencode(folder) + b"/\xff\xfe/n.ipynb", "wb") as file:
        file.write(right)


ALL = (
    Attack("a student's folder that is a link", _linked_folder, 1),
    Attack("a link to what the grader may read", _link_in_a_folder, 1),
    Attack("a folder that holds itself", _folder_loop, 1, 1),
    Attack("a hard link to what the grader may read", _hard_link, 1),
    Attack("a pipe", _pipe, 1),
    Attack("40 folders deep", _deep, 1),
    Attack("60 notebooks", _many, 1),
    Attack("notebooks in hidden folders", _hidden, 1),
    Attack("results of its own", _results_of_its_own, 1, 1),
    Attack("a name that is no text", _names_that_are_no_text, 1, 1),
)
