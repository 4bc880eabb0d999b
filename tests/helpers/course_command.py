"""The `course` command as users start it, in a separate process, on this repository."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COURSE = Path(sys.executable).with_name("course")


def course(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([COURSE, *arguments], cwd=ROOT, capture_output=True, text=True)
