"""Builds throw-away environments: old versions from a lock, with the torch already installed.

One is a venv in the user's cache folder. It appears whole or not at all, is used again while its
lock, Python and torch stay the same, and never writes to the course's own environment.
"""

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_utils.diagnostics.processes.children import run_process
from course_utils.errors import IndexUnreachable, Unsupported
from course_utils.reproductions.eras.folders import (
    cache_folder,
    remove_unfinished,
    whole_or_nothing,
)

LOCKS = Path(__file__).parent / "locks"
LINKS, PATH_FILE = "linked", "linked.pth"
BUILD_S = 900.0
# What pip says when no index answers; with none reached it knows of no version at all.
UNREACHABLE = ("from versions: none", "Connection", "Temporary failure", "timed out")
ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")


@dataclass(frozen=True)
class Environment:
    """One environment, built or not yet.

    Args:
        lock: stem of a file in the folder `locks`.
        on_course: all of the course's own packages show through, and not only torch.
    """

    lock: str
    on_course: bool = False
    locks: Path = LOCKS

    @property
    def lock_file(self) -> Path:
        return self.locks / f"{self.lock}.txt"

    @cached_property
    def pins(self) -> dict[str, str]:
        """Version of each package in the lock."""
        lines = self.lock_file.read_text(encoding="utf-8").splitlines()
        wanted = [Requirement(line) for line in lines if line and line[0] != "#"]
        return {pin.name: str(pin.specifier).removeprefix("==") for pin in wanted}

    @property
    def path(self) -> Path:
        """Its folder; the name changes with everything that decides on its content."""
        torch = importlib.metadata.version("torch")
        inside = (self.pins, self.on_course, sys.version_info[:3], torch, site_packages(sys.prefix))
        digest = hashlib.sha256(repr(inside).encode()).hexdigest()[:12]
        return cache_folder() / f"{self.lock}-{digest}"

    @property
    def python(self) -> Path:
        return python_in(self.path)

    def ensure(self) -> bool:
        """Build it if it is missing; returns whether it was built now.

        Raises:
            IndexUnreachable: no package index answers. Nothing is left behind.
            Unsupported: pip failed for another reason, or wrong versions came out.
        """
        root = cache_folder()
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock"):
            if self.path.exists():
                return False
            remove_unfinished()
            with whole_or_nothing(self.path) as folder:
                venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
                self._install(folder)
                self._link(folder)
                self._verify(folder)
        return True

    def _install(self, folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(python_in(folder)), "install"]
        pip += ["--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:", "--no-input"]
        # The locked wheels were tried; verl 0.9.1 does not say that it works on Python 3.13.
        pip += ["--ignore-requires-python"]
        pip += ["--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
        lock = ["--requirement", str(self.lock_file)]
        env = {"PYTHONPATH": "", **{name: "" for name in ELSEWHERE if name in os.environ}}
        done = run_process([*pip, *lock], timeout_s=BUILD_S, env=env)
        if done.exit_code == 0:
            return
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["?"]
        if done.timed_out or any(word in done.stderr for word in UNREACHABLE):
            raise IndexUnreachable(
                f"The package index cannot be reached, so {self.lock}'s old versions cannot be "
                "fetched; nothing was left behind.",
                why=f"they are installed once, with pip, which said: {said[0]}",
                fix="try again with a connection",
            )
        raise Unsupported(
            f"pip could not install {self.lock}'s old versions: {said[0]}",
            why="exactly the locked versions are needed, as wheels for this Python",
            fix="try Python 3.11; if it stays, report it with this line",
        )

    def _link(self, folder: Path) -> None:
        """Link the installed torch, after pip: pip must never see or replace our packages."""
        there = Path(site_packages(str(folder)))
        if self.on_course:
            there.joinpath(PATH_FILE).write_text(site_packages(sys.prefix), encoding="utf-8")
            return
        links = folder / LINKS
        links.mkdir()
        for source in files_of_torch():
            links.joinpath(source.name).symlink_to(source)
        # Relative, because the folder gets its name when it is finished.
        there.joinpath(PATH_FILE).write_text(os.path.relpath(links, there), encoding="utf-8")

    def _verify(self, folder: Path) -> None:
        """Ask the new interpreter itself which versions it finds."""
        ask = "import importlib.metadata as m, sys; [print(m.version(n)) for n in sys.argv[1:]]"
        argv = [str(python_in(folder)), "-I", "-c", ask, *self.pins, "torch"]
        found = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
        wanted = [*self.pins.values(), importlib.metadata.version("torch")]
        if found != wanted:
            raise Unsupported(
                f"{self.lock}: {found} came out, {wanted} was locked",
                why="a run in other versions would prove nothing",
                fix="report it, with this line",
            )


def python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def site_packages(prefix: str) -> str:
    return sysconfig.get_path("purelib", "venv", vars={"base": prefix, "platbase": prefix})


def files_of_torch() -> list[Path]:
    """The folders that torch needs to work: its own, and those of its requirements."""
    names, waiting = set(), ["torch"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in names:
            continue
        names.add(name)
        needs = map(Requirement, importlib.metadata.requires(name) or ())
        waiting += [n.name for n in needs if not n.marker or n.marker.evaluate({"extra": ""})]
    tops = {
        Path(found.locate_file(file.parts[0])).resolve()
        for found in map(importlib.metadata.distribution, sorted(names))
        for file in found.files or ()
        if file.parts[0] not in ("..", "__pycache__") and not file.name.endswith(".pth")
    }
    return sorted(tops)
