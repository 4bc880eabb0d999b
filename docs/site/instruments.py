"""A page for each instrument, from its docstring."""

from importlib import import_module
from pathlib import Path

ROOMS = ("diagnostics", "gemma3", "numerics")
INTRO = """\
# Instruments

What lessons use, for a run of your own. Install the course, then import them from these modules;
nothing of torch is imported before the first is used.
"""
PAGE = """\
# {name}

```{{eval-rst}}
.. currentmodule:: course_utils.{room}

.. auto{kind}:: {name}
{members}
```
"""
MEMBERS = "   :members:\n   :show-inheritance:"


def stage_instruments(target: Path) -> None:
    """Write `index.md` and a page for each public name of the rooms into `target`."""
    target.mkdir(parents=True)
    index, pages = [INTRO], []
    for room in ROOMS:
        names = sorted(import_module(f"course_utils.{room}").__all__, key=str.lower)
        listed = "\n".join(f"* [{name}]({name}.md)" for name in names)
        index.append(f"## course_utils.{room}\n\n{listed}\n")
        for name in names:
            pages.append(name)
            kind, members = ("class", MEMBERS) if name[0].isupper() else ("function", "")
            text = PAGE.format(name=name, room=room, kind=kind, members=members)
            (target / f"{name}.md").write_text(text, encoding="utf-8")
    tree = "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])
    (target / "index.md").write_text("\n".join([*index, tree]), encoding="utf-8")
