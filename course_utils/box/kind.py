"""The outer wall: the bubblewrap command, and the kind of box that this machine can make."""

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from course_utils.box.confine import SCRATCH
from course_utils.errors import Unsupported
from course_utils.files import checkouts
from course_utils.shown.quiet import SILENCE, THREADS

PACKAGE = checkouts.PACKAGE
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/nix/store")
INSTALL = "on Debian and Ubuntu `apt install bubblewrap`, on Fedora `dnf install bubblewrap`"
MIB = 2**20


@dataclass(frozen=True)
class Kind:
    """The box that this machine can make, in a word, and why in a sentence."""

    name: str
    saw: str

    @property
    def has_walls(self) -> bool:
        return self.name != NO_BOX

    @property
    def is_within(self) -> bool:
        """Whether this process runs in a box already, so that only the inner wall is needed."""
        return self.name == WITHIN


NO_BOX, WITHIN = "none", "within"
# Set for a judge in a box. Elsewhere nothing can be made with it: the folders are missing.
WITHIN_ENV = "COURSE_WITHIN_BOX"
NO_SANDBOX_ENV = "COURSE_NO_SANDBOX"  # set by `course grade --no-sandbox`, for its workers
OPEN = Kind(NO_BOX, "no box was asked for")


@functools.cache
def find_kind() -> Kind:
    """Try the whole box once: bubblewrap outside, its own namespaces and filter inside.

    Within a box bubblewrap can make no other; there the inner wall is put up alone.
    """
    if os.environ.get(WITHIN_ENV):
        return Kind(WITHIN, "namespaces and a system-call filter, within a box")
    if sys.platform != "linux":
        return Kind(NO_BOX, f"a box needs Linux, and this is {sys.platform}")
    if shutil.which("bwrap") is None:
        return Kind(NO_BOX, f"bubblewrap is not installed: {INSTALL}")
    command = [*walls({PACKAGE: PACKAGE}), *python("course_utils.box.confine")]
    env = environment(PACKAGE.parent)
    try:
        tried = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Kind(NO_BOX, f"bubblewrap is there, but cannot make a box: {error}")
    if tried.returncode == 0:
        return Kind("bubblewrap", "bubblewrap, and inside it namespaces and a system-call filter")
    last = (tried.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return Kind(NO_BOX, f"bubblewrap is there, but cannot make a box: {last}")


def no_box(kind: Kind) -> Unsupported:
    """The message where a stranger's code would have to run without a box."""
    return Unsupported(
        f"this machine can make no box: {kind.saw}",
        why="a notebook is a program, and without a box it can do here whatever you can do: read "
        "your files, change the course, use the network",
        fix="install bubblewrap, grade on a machine that has it, or give --no-sandbox for "
        "notebooks whose authors you trust with this account",
    )


def walls(readable: dict[Path, Path], *, scratch_mib: int = 64) -> list[str]:
    """The bubblewrap command up to the program: Python and `readable` (from: to), nothing else."""
    command = [shutil.which("bwrap"), "--unshare-all", "--die-with-parent", "--new-session"]
    command += ["--size", str(scratch_mib * MIB), "--tmpfs", SCRATCH, "--chdir", SCRATCH]
    if not Path(sys.prefix).resolve().is_relative_to("/tmp"):  # Python itself may lie there
        command += ["--symlink", SCRATCH.lstrip("/"), "/tmp"]
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        elif path.exists():
            command += ["--ro-bind", str(path), str(path)]
    hidden, python_in = _hidden(), _python()
    away = [path for path in hidden if any(_lies_in(path, one) for one in (*SYSTEM, *python_in))]
    for path in sorted({*away, *python_in}, key=lambda one: len(one.parts)):  # outer ones first
        if path in away:
            command += ["--tmpfs", str(path)]
        elif any(_lies_in(path, one) for one in away) or not _lies_in(path.resolve(), "/usr"):
            command += ["--ro-bind", str(path.resolve()), str(path)]
    command += ["--proc", "/proc", "--dev", "/dev"]
    for source, target in readable.items():
        command += ["--ro-bind", str(source.resolve()), str(target)]
    for path in (*away, Path("/dev"), Path("/")):
        command += ["--remount-ro", str(path)]
    return command


def _hidden() -> list[Path]:
    """The course, with its answers: checkouts, and what is installed."""
    found = [*checkouts.checkouts(), *checkouts.packages(), *checkouts.lessons()]
    return [path for path in found if path != Path("/")]


def _python() -> list[Path]:
    return list(dict.fromkeys(map(Path, (sys.base_prefix, sys.prefix))))


def _lies_in(path: Path, folder: Path | str) -> bool:
    return path.is_relative_to(folder) or path.resolve().is_relative_to(Path(folder).resolve())


def python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def environment(*path: Path, home: str = SCRATCH) -> dict[str, str]:
    """The environment of a box: module paths, one thread, no GPU or downloads, a scratch home.

    CUDA would reserve more addresses than the box has, and say so in a run's own log.
    """
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        **THREADS,
        **SILENCE,
    }
