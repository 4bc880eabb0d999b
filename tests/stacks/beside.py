"""A fresh environment with somebody's stack, into which pip puts the instruments.

The stack itself is built once, as the old versions of an era are, and shows through: pip sees it as
installed. So every run starts without the instruments, and what pip would change can be seen.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course_utils.diagnostics.processes.children import run_process
from course_utils.reproductions.eras.environment import python_in, site_packages
from tests.stacks.declare import OWN, Stack

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "runs", "build", "*.egg-info", "__pycache__", "node_modules"
)
LIMIT_S = 3600.0
INSTRUMENTS = "brokenruns"


@dataclass(frozen=True)
class Beside:
    """The stack with the instruments in it.

    Args:
        before, after: what `pip freeze` said before the instruments came, and then.
        imports: folders of these sources from which its Python imports, as from the cases.
    """

    python: Path
    before: tuple[str, ...]
    after: tuple[str, ...]
    imports: tuple[Path, ...] = (HERE,)

    @property
    def changed(self) -> list[str]:
        """What pip changed, but for the instruments that it was to install."""
        changed = set(self.before) ^ set(self.after)
        return sorted(line for line in changed if not line.startswith(INSTRUMENTS))

    def said(self, *command: str) -> str:
        """What a command of this environment's Python prints; the cases can be imported.

        Its temporary folder is its own: what a library of old leaves there goes with it.
        """
        argv = [str(self.python), "-P", "-X", "faulthandler", *command]
        with tempfile.TemporaryDirectory(prefix="stack-") as own:
            env = {"PYTHONPATH": os.pathsep.join(map(str, self.imports)), "TMPDIR": own}
            done = run_process(argv, timeout_s=LIMIT_S, env=env)
        if done.timed_out or done.exit_code not in (0, 1):
            raise RuntimeError(f"{' '.join(command)} ended with {done.exit_code}:\n{done.stderr}")
        return done.stdout


def build_wheel(folder: Path) -> Path:
    """The wheel of the sources as they are, built from a copy: a build writes among its sources."""
    source = shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(source)], check=True)
    shutil.rmtree(source)
    [wheel] = folder.glob("*.whl")
    return wheel


@contextmanager
def beside(stack: Stack, wheel: Path) -> Iterator[Beside]:
    """Install the instruments beside this stack, in an environment that is then removed."""
    if stack is OWN:
        installed = pip(Path(sys.executable), "freeze")
        yield Beside(Path(sys.executable), installed, installed, imports=(HERE, ROOT))
        return
    stack.environment.ensure()
    with tempfile.TemporaryDirectory(prefix="stack-") as name:
        folder = Path(name)
        venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
        python, there = python_in(folder), Path(site_packages(name))
        stacks = site_packages(str(stack.environment.path))
        there.joinpath("stack.pth").write_text(f"import site; site.addsitedir({stacks!r})\n")
        before = pip(python, "freeze")
        pip(python, "install", "--quiet", "--no-compile", f"{wheel}[diagnose]")
        placed = Beside(python, before, pip(python, "freeze"))
        home = placed.said("-c", "import course_utils; print(course_utils.__file__)")
        assert home.startswith(name), f"the instruments come from {home}"
        yield placed


def pip(python: Path, *arguments: str) -> tuple[str, ...]:
    """What pip prints when it works on the environment of this Python."""
    command: Sequence[str] = (sys.executable, "-m", "pip", "--python", str(python), *arguments)
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return tuple(done.stdout.splitlines())
