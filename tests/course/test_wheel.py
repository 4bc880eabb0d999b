"""The course alone in an empty folder: what its public address serves, and what it installs.

A server here stands for that address: it has the archive of the tag, as the real one will.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from course_command import ROOT
from IPython.core.inputtransformer2 import TransformerManager
from whole import IS_WHOLE

from course_utils import __version__
from course_utils.notebook import address
from course_utils.notebook.files import read_notebook
from course_utils.notebook.frame import opening
from course_utils.notebook.readme import filled

pytestmark = pytest.mark.timeout(600)
fetches = pytest.mark.skipif(not IS_WHOLE, reason="fetches packages: `make prove` does it")

# The parts of the environment that would lead back to this checkout.
OURS = ("PYTHONPATH", "COURSE_ROOT", "COURSE_PROGRESS", "VIRTUAL_ENV", "JUPYTER_PATH")
CLEAN = {name: value for name, value in os.environ.items() if name not in OURS}
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "runs", "build", "*.egg-info", "__pycache__")
START = "00_start_here.ipynb"
EXECUTE = """\
import nbformat, nbclient
notebook = nbformat.read("alone.ipynb", 4)
nbclient.NotebookClient(notebook, timeout=500).execute()
nbformat.write(notebook, "executed.ipynb")"""


def run(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=CLEAN | more, capture_output=True, text=True
    )


def with_address(url: str, folder: Path) -> Path:
    """A copy of the project that has this public address; only lesson 00's copy is rebuilt."""
    source = shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    project = source / "pyproject.toml"
    urls = f'[project.urls]\nRepository = "{url}"\n\n[project.scripts]'
    project.write_text(project.read_text().replace("[project.scripts]", urls))
    code = (
        "from course_utils.commands.build import refresh_readme\n"
        "from course_utils.notebook.derive import student_notebook\n"
        "from course_utils.notebook.files import write_notebook\n"
        "from course_utils.notebook.lesson_source import load_source\n"
        "from course_utils.files.repository import find_repository\n"
        "here = find_repository()\n"
        "refresh_readme(here, check=False)\n"
        "start = load_source(here.source_path('00_start_here'))\n"
        "write_notebook(here.student_path('00_start_here'), student_notebook(start))"
    )
    done = run(sys.executable, "-c", code, cwd=source, PYTHONPATH=str(source))
    assert done.returncode == 0, done.stderr
    return source


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The project with an address, and the archive of its tag served there."""
    folder = tmp_path_factory.mktemp("published")
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        source = with_address(f"http://127.0.0.1:{server.server_port}/a/course", folder / "source")
        archive = folder / f"a/course/archive/refs/tags/v{__version__}.tar.gz"
        archive.parent.mkdir(parents=True)
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(source, f"course-{__version__}")
        yield source
        server.shutdown()


def empty_environment(home: Path) -> Path:
    """The python of an environment that borrows every package but the course; returns it."""
    assert run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent).returncode == 0
    [site] = home.glob("lib/python*/site-packages")
    borrowed = [Path(path) for path in sys.path if path.endswith("site-packages")]
    for package in (package for folder in borrowed for package in folder.iterdir()):
        is_ours = "course_utils" in package.name or "brokenruns" in package.name
        if not is_ours and not (site / package.name).exists():
            (site / package.name).symlink_to(package)
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def alone(published, tmp_path_factory) -> Path:
    """A folder in which lesson 00 was opened alone and run, with nothing of the course there."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copy2(published / "notebooks" / START, folder / "alone.ipynb")
    python = empty_environment(folder / "env")
    assert run(python, "-c", "import course_utils", cwd=folder).returncode == 1
    done = run(python, "-c", EXECUTE, cwd=folder)
    if done.returncode and "setuptools" in done.stderr:
        pytest.skip("no package index answers, and the wheel needs setuptools to be built")
    assert done.returncode == 0, done.stderr
    return folder


@fetches
def test_a_lesson_opened_alone_says_that_it_installs_the_course_and_runs(alone):
    cells = read_notebook(alone / "executed.ipynb").cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    said = "".join(output.get("text", "") for output in first.outputs)
    assert f"Installing the course, version {__version__}" in said
    assert "not attempted" in json.dumps(cells)


def test_the_cell_does_nothing_where_the_course_is(monkeypatch, capsys):
    monkeypatch.setattr(address, "public_address", lambda: "https://github.com/someone/course")
    _, install = opening(START.removesuffix(".ipynb"))
    code = TransformerManager().transform_cell(install.text)
    assert "get_ipython().run_line_magic('pip'" in code
    exec(code, {})  # there is no get_ipython here
    assert capsys.readouterr().out == ""


@fetches
def test_a_lesson_runs_from_the_install_in_an_empty_folder(alone, tmp_path):
    done = run(alone / "env/bin/course", "run", "00", "--solutions", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 points" in done.stdout
    assert (tmp_path / "runs" / "001" / START).exists()


@fetches
def test_the_lessons_are_copied_once_and_never_over_work(alone, tmp_path):
    course = alone / "env/bin/course"
    assert run(course, "start", "mine", cwd=tmp_path).returncode == 0
    assert (tmp_path / "mine" / "notebooks" / "06_grad_fn.ipynb").exists()
    again = run(course, "start", "mine", cwd=tmp_path)
    assert again.returncode == 2 and "not be overwritten" in again.stderr
    status = run(course, "status", cwd=tmp_path / "mine")
    assert status.returncode == 0 and "00.1" in status.stdout


@fetches
def test_an_installed_course_knows_its_address(alone):
    code = "from course_utils.notebook.address import public_address; print(public_address())"
    done = run(alone / "env/bin/python", "-c", code, cwd=alone)
    assert re.fullmatch(r"http://127.0.0.1:\d+/a/course\n", done.stdout), done.stderr


def test_with_an_address_readme_and_lesson_have_badges_that_lead_to_this_version(monkeypatch):
    monkeypatch.setattr(address, "public_address", lambda: "https://github.com/someone/course")
    head, install = opening(START.removesuffix(".ipynb"))
    where = f"colab.research.google.com/github/someone/course/blob/v{__version__}/notebooks/{START}"
    for text in (head.text, filled((ROOT / "README.md").read_text())):
        assert "[![Open in Colab](https://colab" in text and f"(https://{where})" in text
        assert "(https://codespaces.new/someone/course)" in text
    assert f"course/archive/refs/tags/v{__version__}.tar.gz" in install.text


def test_without_an_address_there_is_no_badge_and_no_install(monkeypatch):
    monkeypatch.setattr(address, "public_address", lambda: None)
    readme = (ROOT / "README.md").read_text()
    assert "Open in" not in filled(readme)
    [head] = opening("00_start_here")
    assert head.kind == "markdown" and "Open in" not in head.text
