"""Pyodide and MathJax as npm packages: fetched once, checked against their hash, unpacked in part.

Nothing is installed and none of their scripts runs here.
"""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """`sha512` is in base64, as npm writes it; `wanted` are beginnings of paths in the package."""

    name: str
    version: str
    sha512: str
    wanted: tuple[str, ...]

    @property
    def tarball(self) -> str:
        return f"{self.name}-{self.version}.tgz"


PYODIDE = Package(
    "pyodide",
    "314.0.7",
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    ("pyodide.mjs", "pyodide.asm.", "python_stdlib.zip", "pyodide-lock.json"),
)
MATHJAX = Package(
    "mathjax",
    "3.2.2",
    "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
    ("es5/tex-chtml.js", "es5/output/chtml/fonts/woff-v2/MathJax_"),
)


class NotFetched(Exception):
    """A package is not in the cache and could not be fetched, or is not the one that is pinned."""


def unpack(package: Package, cache: Path, target: Path) -> None:
    """Put the wanted files of a package into `target`, fetching its tarball into `cache` once.

    Raises:
        NotFetched: there is no npm, no registry, or the tarball's hash differs.
    """
    path = cache / package.tarball
    if not path.exists():
        _fetch(package, cache)
    found = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if found != package.sha512:
        raise NotFetched(
            f"{path} has the sha512 {found}, and {package.sha512} is pinned: delete it, and look "
            "where it came from"
        )
    with tarfile.open(path) as tarball:
        for member in tarball.getmembers():
            inside = member.name.removeprefix("package/")
            is_inside = ".." not in Path(inside).parts
            if member.isfile() and is_inside and inside.startswith(package.wanted):
                (target / inside).parent.mkdir(parents=True, exist_ok=True)
                with tarball.extractfile(member) as source, (target / inside).open("wb") as file:
                    shutil.copyfileobj(source, file)


def _fetch(package: Package, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    if not shutil.which("npm"):
        raise NotFetched(f"{package.tarball} is not in {cache}, and there is no npm to fetch it")
    wanted = f"{package.name}@{package.version}"
    command = ["npm", "pack", wanted, "--silent", "--pack-destination", str(cache.resolve())]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not (cache / package.tarball).exists():
        raise NotFetched(f"npm could not fetch {wanted}: {done.stderr.strip()[-300:]}")
