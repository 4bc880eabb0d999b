"""Which sources a proof reached, and their digest as they are now.

A proof reaches the files and folders that its processes read (`traced/sitecustomize.py` notes
them), and of every room that it reaches the files that libraries read by themselves: weights, logs,
tables. The pins, pytest's settings and Python's version belong to every proof.
"""

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = "pyproject.toml: pytest"  # a part of that file
OF_ALL = ("requirements.lock", SETTINGS)
WRITTEN_HERE = ("tests/prove/record.json", "docs/proof.md")


class Sources:
    """The repository as it is when this is made: without what git ignores and what a proof writes.

    Attributes:
        files: the digest of each file, by its path from the root.
    """

    def __init__(self, root: Path = ROOT) -> None:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
        self.root = root
        self.files = {
            name: hashlib.sha256((root / name).read_bytes()).hexdigest()
            for name in listed.stdout.split("\0")
            if name not in ("", *WRITTEN_HERE) and (root / name).is_file()
        }
        if (root / "pyproject.toml").exists():
            written = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
            self.files[SETTINGS] = str(written["tool"]["pytest"])

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """What stands in each folder, "tests/": the names of its files and folders."""
        found: dict[str, set[str]] = {}
        for file in self.files:
            path = Path(file)
            for below, above in zip((path, *path.parents), path.parents, strict=False):
                found.setdefault(f"{above}/", set()).add(below.name)
        return {folder: sorted(names) for folder, names in found.items()}

    def reached(self, trace: str) -> list[str]:
        """The sources that the lines of a trace name, sorted; folders end in "/".

        A line may be cut off: a process that wrote it was killed, or could write no more.
        """
        found = {*OF_ALL}
        for line in trace.splitlines():
            kind, _, name = line.partition(" ")
            if not Path(name).is_relative_to(self.root):
                continue
            path = Path(name).relative_to(self.root)
            if path.parent.name == "__pycache__":
                path = path.parents[1] / (path.name.partition(".")[0] + ".py")
            found.add(f"{path}/" if kind == "folder" else str(path))
        rooms = {_room(name) for name in found} - {None}
        found |= {name for name in self.files if _room(name) in rooms and _is_data(name)}
        return sorted(found & {*self.files, *self.folders})

    def digest(self, reached: Iterable[str]) -> str:
        """Of the contents of the files, the names in the folders, and Python's version."""
        whole = hashlib.sha256(f"{sys.version_info[:2]}".encode())
        for name in sorted(reached):
            whole.update(f"\0{name}\0{self._of(name)}".encode())
        return whole.hexdigest()[:24]

    def _of(self, name: str) -> str:
        if name.endswith("/"):
            return ",".join(self.folders.get(name, ()))
        return self.files.get(name, "missing")


def _is_data(name: str) -> bool:
    return not name.endswith((".py", ".md"))


def _room(name: str) -> str | None:
    """The room of `course_utils/` that a path is in."""
    parts = name.split("/")
    return parts[1] if parts[0] == "course_utils" and len(parts) > 2 else None
