"""Trains folders, each in a fork of one warm process, inside a box where there is one.

What comes back is what the run left, its console, and how much work was counted; nothing is judged.
"""

import base64
import contextlib
import shutil
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from course_utils.box.kind import PACKAGE, Kind, find_kind
from course_utils.box.lines import Ended as Gone
from course_utils.box.lines import hear, tell
from course_utils.box.warm import Warm
from course_utils.oncall.binaries import as_bytes
from course_utils.oncall.declare import Files

MODULE = "course_utils.oncall.box_side"
# All of the library that the box can read.
KEPT = (
    "box/confine.py",
    "box/zygote.py",
    "box/lines.py",
    "oncall/box_side.py",
    "oncall/learned_rows.py",
    "oncall/paid_replies.py",
)
CPU_S, WALL_FACTOR, WALL_MORE_S = 120, 6, 60


@dataclass(frozen=True)
class Trained:
    """How a run ended.

    Attributes:
        code: 0 when train.py came to its end; None when it was ended, by a limit or by itself.
        console: what it printed.
        files: what it left in run/, by path.
        steps, tokens: optimizer steps, and tokens seen with a gradient, as they were counted.
        cpu_s: seconds of CPU.
        seen: what was looked at, where something was asked for: see `mechanism`.
    """

    code: int | None
    console: str = ""
    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    steps: int = 0
    tokens: int = 0
    cpu_s: float = 0.0
    seen: list = field(default_factory=list, repr=False)


class Trainers:
    """Trains folders in one warm process; a context manager that leaves no process behind."""

    def __init__(self, kind: Kind | None = None) -> None:
        self.kind = kind or find_kind()
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="course-oncall-"))
        kept, home = Path(folder) / "kept", Path(folder) / "home"
        home.mkdir()
        _strip(kept)
        is_outer = self.kind.has_walls and not self.kind.is_within
        seen = Path("/course") if is_outer else kept
        hidden = (str(PACKAGE),) if self.kind.is_within else ()  # outside, it is not there at all
        warm = Warm(MODULE, self.kind, {kept: seen}, [seen], *hidden, home=home)
        self._warm = self._stack.enter_context(warm)

    def train(
        self,
        files: Files,
        base: dict[str, bytes],
        *,
        seed: int,
        cpu_s: int = CPU_S,
        look_at: str = "",
    ) -> Trained:
        """Run train.py on these files with config.yaml's seed set to `seed`.

        Args:
            look_at: "paid", "learned" or nothing: see `mechanism`.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                number = self._warm.fork({"cpu_s": cpu_s, "look_at": look_at}, theirs)
            ours.settimeout(WALL_FACTOR * cpu_s + WALL_MORE_S)
            try:
                tell(ours, _sent(files, base, seed))
                return _heard(hear(ours)[0])
            except Gone:
                return Trained(code=None)
            finally:
                self._warm.end(number)

    def __enter__(self) -> "Trainers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()


def _strip(folder: Path) -> None:
    package = folder / PACKAGE.name
    for name in KEPT:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PACKAGE / name, package / name)
    for made in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (made / "__init__.py").touch()


def _sent(files: Files, base: dict[str, bytes], seed: int) -> dict[str, str]:
    settings = yaml.safe_load(files["config.yaml"]) | {"seed": seed}
    files = files | {"config.yaml": yaml.safe_dump(settings, sort_keys=False)}
    whole = {name: as_bytes(name, text) for name, text in files.items()}
    whole |= {f"base/{name}": data for name, data in base.items()}
    return {name: base64.b64encode(data).decode() for name, data in whole.items()}


def _heard(said: object) -> Trained:
    try:
        return Trained(
            code=int(said["code"]),
            console=str(said["console"]),
            files={str(k): base64.b64decode(v) for k, v in said["files"].items()},
            steps=int(said["counted"]["steps"]),
            tokens=int(said["counted"]["tokens"]),
            cpu_s=float(said["cpu_s"]),
            seen=list(said["seen"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return Trained(code=None)  # the run forged its report
