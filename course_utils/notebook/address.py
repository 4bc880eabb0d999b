"""The project's public address, and the badges and install cell that derive from it.

`[project.urls]` holds it; while it is unset, there are none of these. Reads nothing else.
"""

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from course_utils import __version__

NAME = "Repository"
GITHUB = "https://github.com/"
TAG = f"v{__version__}"

# The archive of a tag needs no git; pip knows the kind of file by its end.
INSTALL = f"""\
# A notebook opened alone needs the course. Where it is missing, this installs version
# {__version__} of it, with torch and what else it needs; where it is there, nothing happens.
import importlib.util

if importlib.util.find_spec("course_utils") is None:
    print("Installing the course, version {__version__}. This takes some minutes, once.")
    %pip install --quiet "brokenruns[course] @ {{address}}/archive/refs/tags/{TAG}.tar.gz\""""


@cache
def public_address() -> str | None:
    """The project's repository, or None while it has no public address."""
    path = Path(__file__).parents[2] / "pyproject.toml"
    if path.exists():
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        return project.get("urls", {}).get(NAME)
    return _installed_address()


def install_code() -> str | None:
    """The code of a cell that installs this version of the course if it is missing."""
    address = public_address()
    return INSTALL.format(address=address.rstrip("/")) if address else None


def badges(stem: str) -> str:
    """Links that open a lesson elsewhere; empty unless the project is at its public address.

    Args:
        stem: of the lesson, such as "03_reward_nan".
    """
    address = (public_address() or "").rstrip("/")
    if not address.startswith(GITHUB):
        return ""
    project = address.removeprefix(GITHUB).removesuffix(".git")
    file = f"{project}/blob/{TAG}/notebooks/{stem}.ipynb"
    colab, codespaces = "https://colab.research.google.com", "https://github.com/codespaces"
    return " ".join(
        (
            f"[![Open in Colab]({colab}/assets/colab-badge.svg)]({colab}/github/{file})",
            f"[![Open in Codespaces]({codespaces}/badge.svg)](https://codespaces.new/{project})",
        )
    )


def _installed_address() -> str | None:
    try:
        urls = metadata("brokenruns").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(url.split(", ", 1) for url in urls)
    return named.get(NAME)
