"""Healthy runs as a colleague would leave them: a folder each, `NAME/files`, and its `TEMPLATE`.

A template's train.py knows nothing of this course: it reads config.yaml, data/ and base/ and writes
run/model, run/trainer_state.json and a log to the console, with a seed that config.yaml gives.
"""

import hashlib
import importlib
import pkgutil
from pathlib import Path

from course_utils.oncall.binaries import as_text
from course_utils.oncall.declare import Files, Template
from course_utils.oncall.rows import as_lines

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Their names, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def load(name: str) -> Template:
    """The template of that name."""
    return importlib.import_module(f"{__name__}.{name}").TEMPLATE


def healthy_files(template: Template, seed: int) -> Files:
    """What the folder of a healthy run holds but base/, its data drawn by `seed`."""
    folder = FOLDER / template.name / "files"
    own = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    rows = {path: as_lines(rows) for path, rows in template.rows(seed).items()}
    others = {path: as_text(path, data) for path, data in template.handed_over(seed).items()}
    return own | rows | others


def fingerprint(template: Template) -> str:
    """Changes whenever a file of the template, or its declaration, does."""
    paths = sorted((FOLDER / template.name).rglob("*.*"))
    texts = [path.read_bytes() for path in paths if "__pycache__" not in path.parts]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
