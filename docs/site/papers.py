"""The documents as pages: links that lead elsewhere in the repository find their way."""

import re
from pathlib import Path

from course_utils.notebook.address import TAG, public_address

FIRST, LAST = ("diagnosis", "then_and_now"), ("LOG",)  # the others stand between, by name
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:|#)([^)\s]+)\)")
LESSON = re.compile(r"\.\./(?:notebooks|solutions)/(\d\d_\w+\.ipynb)")


def stage_papers(docs: Path, target: Path) -> list[str]:
    """Write all documents into `target`; returns their names in reading order."""
    held = sorted(path.stem for path in docs.glob("*.md"))
    held.sort(key=lambda name: (*(name != first for first in FIRST), name in LAST))
    for name in held:
        text = (docs / f"{name}.md").read_text(encoding="utf-8")
        text = LINK.sub(lambda link: _fit(link[1], link[2], held), text)
        (target / f"{name}.md").write_text(text, encoding="utf-8")
    return held


def _fit(words: str, to: str, held: list[str]) -> str:
    """A link to a page; to the repository, where there is no page; words, where that is not public.

    >>> _fit("lesson", "../notebooks/03_reward_nan.ipynb", [])
    '[lesson](lessons/03_reward_nan.ipynb)'
    """
    if lesson := LESSON.fullmatch(to):
        return f"[{words}](lessons/{lesson[1]})"
    if to.partition("#")[0].removesuffix(".md") in held:
        return f"[{words}]({to})"
    if to == "../README.md":
        return f"[{words}](index.md)"
    if address := public_address():
        file = to.removeprefix("../") if to.startswith("../") else f"docs/{to}"
        return f"[{words}]({address}/blob/{TAG}/{file})"
    return words
