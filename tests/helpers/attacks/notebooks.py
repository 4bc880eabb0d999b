"""Files that are not ordinary notebooks, each with the result that it must get.

Every kind writes itself to a path below a student's folder. None of them executes anything.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CANNOT = "cannot be graded"


@dataclass(frozen=True)
class Attack:
    """`write(path, data)` makes the file; `data` is an honest, right notebook as a dict."""

    name: str
    write: Callable[[Path, dict], object]
    says: str  # in the reason, or in the notes of a grade
    points: int | None = None  # None: cannot be graded

    @property
    def is_small(self) -> bool:
        """Whether a class may hold hundreds of them."""
        return self.name not in ("3 million empty lists", "an id of 1 MB", "a hole of 1 GiB")

    @property
    def is_repaired(self) -> bool:
        """Whether its answers are found only with the lesson beside it."""
        return "found by" in self.says or self.name == "roles swapped"


def _raw(content: bytes) -> Callable:
    return lambda path, data: path.write_bytes(content)


def _text(change: Callable[[str], str], encoding: str = "utf-8") -> Callable:
    return lambda path, data: path.write_bytes(change(json.dumps(data)).encode(encoding))


def _changed(change: Callable[[dict], object]) -> Callable:
    def write(path: Path, data: dict) -> None:
        change(data)
        path.write_text(json.dumps(data))

    return write


def _cell(**entries) -> dict:
    return {"cell_type": "code", "source": "", "metadata": {}, "outputs": []} | entries


def _sparse(path: Path, data: dict) -> None:
    path.write_text(json.dumps(data))
    os.truncate(path, 2**30)


def _link(to: str) -> Callable:
    return lambda path, data: path.symlink_to(to)


def _link_to_a_right_one(path: Path, data: dict) -> None:
    other = path.with_name("other.txt")
    other.write_text(json.dumps(data))
    path.symlink_to(other.name)


def _nbformat_3(data: dict) -> None:
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
        cell.pop("id", None)
    data |= {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": data.pop("cells")}]}


def _without_ids(data: dict) -> None:
    data["nbformat_minor"] = 4
    for cell in data["cells"]:
        del cell["id"]


def _without_any_name(data: dict) -> None:
    _without_ids(data)
    for cell in data["cells"]:
        cell["metadata"] = {}


def _new_ids(data: dict) -> None:
    for number, cell in enumerate(data["cells"]):
        cell["id"] = f"new-{number}"


def _answers(data: dict) -> list[dict]:
    return [c for c in data["cells"] if c["metadata"]["course"].get("role") == "answer"]


def _one_id(data: dict) -> None:
    answer, is_code = _answers(data)[0], lambda cell: cell["cell_type"] == "code"
    other = next(cell for cell in data["cells"] if is_code(cell) and cell is not answer)
    answer["id"] = other["id"] = "same"


def _texts_of_answers(data: dict) -> None:
    data["cells"] += [cell | {"cell_type": "markdown"} for cell in _answers(data)]


def _swapped_ids(data: dict) -> None:
    first, second = _answers(data)
    first["id"], second["id"] = second["id"], first["id"]


def _swapped_roles(data: dict) -> None:
    first, second = _answers(data)
    first["metadata"], second["metadata"] = second["metadata"], first["metadata"]


def _deep_outputs(data: dict) -> None:
    value: object = 0
    for _ in range(500):
        value = {"a": value}
    data["metadata"]["deep"] = value


def _insert(**entries) -> Callable:
    return _changed(lambda data: data["cells"].append(_cell(**entries)))


def _twice(text: str) -> str:
    return text.replace('"cells":', '"cells": [], "cells":', 1)


ALL = (
    Attack("empty file", _raw(b""), "its JSON breaks at line 1"),
    Attack("cut off", _text(lambda text: text[:500]), "its JSON breaks at line"),
    Attack("a picture", _raw(b"\x89PNG\r\n\x1a\n\xff\xfe"), "is not a notebook"),
    Attack("NUL bytes", _raw(b"\x00" * 4096), "is not a notebook"),
    Attack("a number", _raw(b"3"), "holds no list of cells"),
    Attack("a string", _raw(b'"cells"'), "holds no list of cells"),
    Attack("a list", _raw(b"[]"), "holds no list of cells"),
    Attack("cells that are a number", _raw(b'{"cells": 3}'), "holds no list of cells"),
    Attack("cells that are numbers", _raw(b'{"cells": [1]}'), "cell 1 is of no known kind"),
    Attack("100,000 brackets", _raw(b"[" * 100_000), "is not a notebook"),
    Attack("999,999 brackets", _raw(b"[" * 999_999), "is too large"),
    Attack("90,000 levels", _raw(b"[" * 90_000 + b"]" * 90_000), "nested more than"),
    Attack("500 levels", _changed(_deep_outputs), "nested more than"),
    Attack("3 million empty lists", _raw(b"[" + b"[]," * 3_000_000 + b"[]]"), "is too large"),
    Attack("a hole of 1 GiB", _sparse, "it has 1024 MiB"),
    Attack(
        "NaN",
        _text(lambda text: text.replace('"nbformat": 4', '"nbformat": NaN')),
        "NaN is no JSON",
    ),
    Attack("Infinity", _raw(b'{"cells": [Infinity]}'), "Infinity is no JSON"),
    Attack("5,000 digits", _raw(b'{"cells": [], "n": ' + b"9" * 5000 + b"}"), "of 5000 digits"),
    Attack("a key twice", _text(_twice), "the key 'cells' stands twice"),
    Attack("an answer's id twice", _changed(_one_id), "holds 2 cells with the id 'same'"),
    Attack(
        "a text that is copied with its id",
        _changed(lambda data: data["cells"].append(dict(data["cells"][0]))),
        "",
        points=4,
    ),
    Attack("texts with an answer's id and role", _changed(_texts_of_answers), "", points=4),
    Attack("nbformat 5", _changed(lambda data: data.update(nbformat=5)), "it has nbformat 5"),
    Attack("nbformat 2", _changed(lambda data: data.update(nbformat=2)), "it has nbformat 2"),
    Attack("nbformat true", _changed(lambda data: data.update(nbformat=True)), "nbformat True"),
    Attack("nbformat 10^300", _changed(lambda data: data.update(nbformat=10**300)), "it has nbf"),
    Attack("3,000 cells", _changed(lambda d: d.update(cells=[_cell()] * 3000)), "3000 cells"),
    Attack("a cell of 600,000 characters", _insert(source="#" * 600_000), "600000 characters"),
    Attack(
        "60 cells of 5,000 statements",
        _changed(lambda data: data["cells"].extend(_cell(source="1;" * 5000) for _ in range(60))),
        "and 300000 are read",
    ),
    Attack("a source that is a dict", _insert(source={"a": 1}), "is no text"),
    Attack("a source of numbers", _insert(source=[1, 2]), "is no text"),
    Attack("no source", _insert(source=None), "is no text"),
    Attack("an unknown kind of cell", _insert(cell_type="widget"), "no known kind: 'widget'"),
    Attack("a kind that is a list", _insert(cell_type=[]), "no known kind: []"),
    Attack("a link out", _link("/etc/hostname"), "is a link"),
    Attack("a link to a right one", _link_to_a_right_one, "is a link"),
    Attack("a link to itself", _link("90_fake.ipynb"), "is a link"),
    Attack("a link to nothing", _link("missing"), "is a link"),
    Attack("a pipe", lambda path, data: os.mkfifo(path), "is no regular file"),
    Attack("a folder", lambda path, data: path.mkdir(), "is a folder"),
    Attack("nothing", lambda path, data: None, "holds no notebook"),
    Attack("no lesson", _changed(lambda d: d["metadata"].pop("course")), "is no notebook of this"),
    Attack(
        "a lesson elsewhere",
        _changed(lambda data: data["metadata"]["course"].update(lesson="../../etc/passwd")),
        "is of another course: '../../etc/passwd'",
    ),
    Attack(
        "a lesson that is a dict",
        _changed(lambda data: data["metadata"]["course"].update(lesson={"a": 1})),
        "is no notebook of this course",
    ),
    Attack("metadata that is a list", _changed(lambda d: d.update(metadata=[])), "is no notebook"),
    Attack("UTF-8 with a mark", _text(str, "utf-8-sig"), "", points=4),
    Attack("UTF-16", _text(str, "utf-16"), "", points=4),
    Attack("UTF-32", _text(str, "utf-32"), "", points=4),
    Attack("half a character", _insert(source="x = '\ud800'"), "characters that are no text", 4),
    Attack("NUL in a cell", _insert(source="x = '\0'"), "", points=4),
    Attack("colours in an id", _insert(id="\x1b[31m\r\n"), "", points=4),
    Attack("an id of 1 MB", _insert(id="a" * 1_000_000), "", points=4),
    Attack("an id that is a list", _insert(id=[]), "", points=4),
    Attack("nbformat 3", _changed(_nbformat_3), "found by its role", points=4),
    Attack("no ids", _changed(_without_ids), "found by its role", points=4),
    Attack("new ids", _changed(_new_ids), "found by its role", points=4),
    Attack("neither ids nor roles", _changed(_without_any_name), "found by its first line", 4),
    Attack("ids swapped", _changed(_swapped_ids), "found by its role", points=4),
    Attack("roles swapped", _changed(_swapped_roles), "", points=4),
)
