"""`course start` copies the course into a folder; `course lab` opens JupyterLab on it."""

import os
import shutil
import sys
from pathlib import Path

import click

from course_utils.errors import BadRequest, NotSaved
from course_utils.exercises.outline import outline
from course_utils.files.repository import find_repository

COPIED = ("notebooks", "solutions", "docs")
PAPERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")  # linked to
# `python -m jupyterlab`, behind the module that shortens the import of nbformat by seconds.
JUPYTERLAB = "import course_utils.notebook; from jupyterlab.labapp import main; main()"
SETTINGS = Path(__file__).with_name("lab_settings")  # no launcher, no news, no update toast


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default="post-training-course")
def start(folder: Path) -> None:
    """Copy the lessons into FOLDER, so that you can work in them. Nothing is overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadRequest(
            f"{folder} is there already and is not empty",
            why="your work in it must not be overwritten",
            fix="name another folder, or go on in this one with `course lab`",
        )
    source = find_repository().root
    try:
        for name in COPIED:
            ignore = shutil.ignore_patterns(
                ".*", "__pycache__", "conftest.py", "*.before-*", "site"
            )
            shutil.copytree(source / name, folder / name, ignore=ignore)
        for name in PAPERS:
            shutil.copy2(source / name, folder / name)
    except OSError as error:
        raise NotSaved(
            f"the lessons could not be copied into {folder}: {error.strerror or error}",
            why="the disk is full, or the folder cannot be written to",
            fix="free some space or name another folder; what is in it now can be deleted",
        ) from error
    click.echo(f"The lessons are in {folder}. Go on with: cd {folder} && course lab")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[JUPYTER OPTION]...")
def lab(options: tuple[str, ...]) -> None:
    """Open JupyterLab at the first lesson. Further options go to `jupyter lab`."""
    root, first = find_repository().root, outline()[0].stem
    ours = {
        "--ServerApp.root_dir": root.resolve(),
        "--LabApp.default_url": f"/lab/tree/notebooks/{first}.ipynb",
        "--LabApp.app_settings_dir": SETTINGS,
    }
    given = {option.partition("=")[0] for option in options}  # JupyterLab drops one given twice
    ours = [f"{name}={value}" for name, value in ours.items() if name not in given]
    os.execv(sys.executable, [sys.executable, "-c", JUPYTERLAB, *ours, *options])
