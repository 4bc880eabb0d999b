"""Takes out of a built site what none of its pages uses: rules of style sheets, a million icons."""

import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import tinycss2
from tinycss2.ast import Node

INLINE = re.compile(r"base64,[^\"']+")
SCRIPT = re.compile(r'<script defer src="[^"]*fontawesome\.js[^"]*"></script>')
SIDE_BAR = '<div id="pst-primary-sidebar"'
MENDS = {  # what is wrong in the theme's pages without eyes or a mouse
    ' aria-label="Toggle hidden content"': "",  # the summary has words of its own
    '<div class="math ': '<div tabindex="0" class="math ',  # on a phone a formula scrolls
    SIDE_BAR: f'{SIDE_BAR} role="navigation" aria-label="Site"',
}
NESTED = ("media", "supports")
UNUSED = (
    *("vendor", "locales", "scripts/fontawesome.js", "scripts/fontawesome.js.LICENSE.txt"),
    *("webpack-macros.html", "sbt-webpack-macros.html"),  # templates of the theme
)
THEME = "styles/pydata-sphinx-theme.css"
SHEETS = (THEME, "styles/sphinx-book-theme.css", "basic.css", "mystnb.*.css")
ICON = (
    "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'%3E"
    "%3Cpath d='{path}'/%3E%3C/svg%3E"
)


def trim(site: Path) -> None:
    """Shrink style sheets and icons in place; pages look as before."""
    static = site / "_static"
    icons = (static / "scripts" / "fontawesome.js").read_text(encoding="utf-8")
    for name in UNUSED:
        path = static / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    pages = list(site.rglob("*.html"))
    for path in pages:
        text = SCRIPT.sub("", path.read_text(encoding="utf-8"))
        for wrong, right in MENDS.items():
            text = text.replace(wrong, right)
        path.write_text(text, encoding="utf-8")
    for path in static.rglob("*.map"):
        path.unlink()
    used = set(_names([*pages, *static.glob("*.*js"), *(static / "scripts").glob("*.js")]))
    for path in (path for name in SHEETS for path in static.glob(name)):
        sheet = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"), True, True)
        path.write_text("".join(_kept(sheet, used)), encoding="utf-8")
    with (static / THEME).open("a", encoding="utf-8") as file:
        file.writelines(_icons(used, icons))


def _names(paths: Iterable[Path]) -> Iterator[str]:
    """Everything in pages and scripts that may be a class."""
    for path in paths:
        yield from re.findall(r"[\w-]+", INLINE.sub("", path.read_text(encoding="utf-8")))


def _kept(rules: list[Node], used: set[str]) -> Iterator[str]:
    """The rules of a style sheet, without selectors that name a class which is nowhere."""
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [part for part in _selectors(rule.prelude) if _classes(part) <= used]
            if kept:
                selectors = ",".join(map(tinycss2.serialize, kept))
                yield f"{selectors}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            inner = "".join(_kept(tinycss2.parse_rule_list(rule.content, True, True), used))
            if inner:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}"
        elif "fontawesome" not in (text := rule.serialize()):  # fonts of the icons
            yield text


def _selectors(prelude: list[Node]) -> list[list[Node]]:
    """A prelude at its commas; those inside `:is()` are in a node of their own."""
    parts: list[list[Node]] = [[]]
    for node in prelude:
        if node == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def _classes(selector: list[Node]) -> set[str]:
    """Those that an element must have; what stands in `:not()` and the like is left alone."""
    return {
        after.value for dot, after in pairwise(selector) if dot == "." and after.type == "ident"
    }


def _icons(used: set[str], script: str) -> Iterator[str]:
    """The shape of each icon that a page names, out of the theme's 2,000."""
    for name in sorted(name for name in used if name.startswith("fa-")):
        shape = rf'[{{,]"?{re.escape(name[3:])}"?:\[(\d+),(\d+),\[[^]]*\],"\w+","([^"]+)"'
        if found := re.findall(shape, script):
            width, height, path = found[-1]  # the solid ones come last
            shown = ICON.format(width=width, height=height, path=path)
            yield f'.{name}{{--icon:url("data:image/svg+xml,{shown}")}}'
