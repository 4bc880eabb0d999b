"""`python docs/site`: the whole site into build/site, from notebooks, documents and docstrings."""

import argparse
import gc
import json
import re
import shutil
import sys
import zipfile
from html import escape
from itertools import chain
from pathlib import Path

from examples import examples
from instruments import stage_instruments
from lessons import stage_lessons
from npm import MATHJAX, PYODIDE, NotFetched, unpack
from papers import stage_papers
from pictures import first_picture
from symptom_pages import escaped, plain_list, stage_symptoms
from trim import trim

from course_utils.exercises.outline import outline
from course_utils.files.repository import Repository

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"
SAMPLE = "nan_shown_as_zero"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the archive, so that it is always the same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=BUILD / "site")
    parser.add_argument(
        "--without-packages",
        action="store_true",
        help="no Pyodide and no MathJax: nothing is fetched, and the explain page only lists",
    )
    given = parser.parse_args()
    gc.disable()  # a sixth of a build would go through trees that stay to its end, in 1.4 GB
    try:
        from sphinx.cmd.build import build_main
    except ModuleNotFoundError:
        sys.exit("Sphinx is missing. `make site` installs what the site needs, and writes it.")
    source = given.out.with_name(f"{given.out.name}-source")
    for folder in (source, given.out):
        shutil.rmtree(folder, ignore_errors=True)
    static = given.out / "_static"
    if not given.without_packages:
        unpack(PYODIDE, BUILD / "npm", static / "pyodide")
        unpack(MATHJAX, BUILD / "npm", static / "mathjax")
    stage(source, has_packages=not given.without_packages)
    options = ["-c", str(HERE), "-d", str(source / ".doctrees"), "-W", "--keep-going", "-q"]
    if code := build_main([*options, "-b", "html", str(source), str(given.out)]):
        sys.exit(code)
    pack(static / "explain.zip")
    trim(given.out)


def stage(target: Path, *, has_packages: bool) -> None:
    """Everything that Sphinx reads, in one folder."""
    stage_lessons(Repository(ROOT), target / "lessons")
    stage_symptoms(target / "symptoms")
    stage_instruments(target / "instruments")
    papers = stage_papers(ROOT / "docs", target)
    box = filled(
        "explain_box.html",
        sample=json.dumps(examples()[SAMPLE][0].text).replace("<", "\\u003c"),
        packages=escape(str(has_packages).lower()),
    )
    symptoms = "\n\n".join(plain_list("symptoms/", "###"))
    fill(
        target / "index.md",
        box=box,
        symptoms=symptoms,
        lessons="\n".join(_lessons(target / "pictures")),
        diagnosis="diagnosis" if "diagnosis" in papers else "",
        papers="\n".join(name for name in papers if name != "diagnosis"),
    )
    fill(target / "explain.md", box=box, symptoms=symptoms)


def _lessons(pictures: Path):
    yield "| first figure | lesson | minutes |"
    yield "| --- | --- | --- |"
    for entry in outline():
        alt = first_picture(entry.stem, pictures / f"{entry.number}.png")
        link = f"[{entry.number} {escaped(entry.title)}](lessons/{entry.stem}.ipynb)"
        deeper = f" + {entry.deeper_minutes}" if entry.deeper_minutes else ""
        yield f"| ![{alt}](pictures/{entry.number}.png) | {link} | {entry.minutes}{deeper} |"


def fill(target: Path, **parts: str) -> None:
    """Copy a page with `{{ name }}` replaced by its part."""
    target.write_text(filled(target.name, **parts), encoding="utf-8")


def filled(page: str, **parts: str) -> str:
    text = (HERE / "pages" / page).read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]], text)


def pack(target: Path) -> None:
    """The package that answers, as the command has it, for Python in the browser."""
    package = ROOT / "course_utils"
    rooms = (sorted((package / room).rglob("*.py")) for room in ("causes", "explain"))
    files = [package / "__init__.py", *chain.from_iterable(rooms)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            info = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), EPOCH)
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    try:
        main()
    except NotFetched as error:
        sys.exit(f"{error}\n`python docs/site --without-packages` builds without them.")
