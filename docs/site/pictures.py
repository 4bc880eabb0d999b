"""A small picture for each lesson: the first figure that its solved notebook shows."""

import re
from base64 import b64decode
from html import unescape
from io import BytesIO
from pathlib import Path

from PIL import Image

from course_utils.files.repository import Repository
from course_utils.notebook.files import read_notebook

ROOT = Path(__file__).parents[2]
WIDTH = 480  # pixels, shown at a third of that
IMAGE = re.compile(r'<img\b[^>]*\balt="([^"]*)"[^>]*\bsrc="data:image/png;base64,([^"]+)"')


def first_picture(stem: str, target: Path) -> str:
    """Save a lesson's first figure, small, as `target`; returns its text for who cannot see it.

    Raises:
        ValueError: the lesson shows no figure.
    """
    for cell in read_notebook(Repository(ROOT).solved_path(stem)).cells:
        for output in cell.get("outputs", []):
            if found := IMAGE.search("".join(output.get("data", {}).get("text/html", ""))):
                target.parent.mkdir(exist_ok=True)
                with Image.open(BytesIO(b64decode(found[2]))) as image:
                    image.thumbnail((WIDTH, WIDTH))
                    image.convert("P", palette=Image.Palette.ADAPTIVE).save(target, optimize=True)
                words = unescape(found[1]).partition(". ")[0]
                return re.sub(r"[\[\]|\\`*_<>]", " ", words)
    raise ValueError(f"{stem} shows no figure: give it one, for the site's first page.")
