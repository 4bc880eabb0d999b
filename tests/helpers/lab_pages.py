"""One notebook in JupyterLab: what a browser shows of it, as numbers, and how its cells run."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nbformat import v4

from course_utils.notebook.files import write_notebook

DARK, LIGHT = "JupyterLab Dark", "JupyterLab Light"
# Structure is the same in both themes; contrast is not.
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
VIOLATIONS = {"resultTypes": ["violations"], "preload": False}

LOOK = """() => {
    const wide = (selector) => [...document.querySelectorAll(selector)]
        .filter(o => o.scrollWidth > o.clientWidth + 2)
        .map(o => o.innerText.slice(0, 80));
    const images = [...document.querySelectorAll('.jp-Notebook img')];
    return {
        outputs: wide('.jp-OutputArea-output, .jp-MarkdownOutput'),
        code: wide('.jp-Cell:not(.jp-mod-noInput) .cm-scroller'),
        images: images.length,
        blind: images.filter(i => !(i.alt || '').trim()).length,
    };
}"""
# A context is ready before its first kernel is: what runs in between runs nowhere.
READY = """async () => {
    const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
    await session.ready;
    while (!session.session?.kernel?.info) await new Promise(done => setTimeout(done, 100));
    await session.session.kernel.info;
}"""
SCREENS = """() => {
    const cells = [...document.querySelectorAll('.jp-Notebook .jp-Cell')];
    const height = cells.reduce((sum, cell) => sum + cell.getBoundingClientRect().height, 0);
    return height / document.querySelector('.jp-Notebook').clientHeight;
}"""


@dataclass(frozen=True)
class Seen:
    """One notebook at one width of the window."""

    outputs: list[str]  # beginnings of those that are wider than their cell
    code: list[str]  # the same for code cells, which scroll
    images: int
    blind: int  # images without alt text


def write_plain(path: Path) -> None:
    """A notebook with nothing of ours, in which JupyterLab's own findings are seen."""
    cells = [v4.new_markdown_cell("# Title"), v4.new_code_cell("1 + 1"), v4.new_code_cell("2")]
    write_notebook(path, v4.new_notebook(cells=cells))


def open_notebook(page, address: str, path: str) -> None:
    """Open a notebook in a new workspace and wait for its first heading."""
    name = path.replace("/", "-").removesuffix(".ipynb")
    page.goto(f"{address}/lab/workspaces/{name}/tree/{path}?reset")
    page.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1")
    page.wait_for_function("window.jupyterapp !== undefined")
    page.wait_for_timeout(500)


def look(page, *, width: int) -> Seen:
    """What stands in the open notebook in a window of `width` pixels; side bar in a large one."""
    page.set_viewport_size({"width": width, "height": 900})
    side = "expandLeft" if width > 1000 else "collapseLeft"
    page.evaluate(f"window.jupyterapp.shell.{side}()")
    page.wait_for_timeout(300)
    return Seen(**page.evaluate(LOOK))


def screens(page) -> float:
    """The height of the open notebook in heights of its window."""
    return page.evaluate(SCREENS)


def set_theme(page, theme: str) -> None:
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached")
    page.wait_for_timeout(500)


@cache
def axe():
    from axe_playwright_python.sync_playwright import Axe

    return Axe()


def axe_findings(page, **options) -> dict[str, int]:
    """How many elements of the open notebook axe-core objects to, by rule."""
    options = VIOLATIONS | options
    found = axe().run(page, context=".jp-Notebook", options=options).response["violations"]
    return {violation["id"]: len(violation["nodes"]) for violation in found}


def write_cell(page, marker: str, text: str) -> None:
    """Replace the source of the first code cell that holds `marker`."""
    page.evaluate(
        """([marker, text]) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            const cell = notebook.widgets.find(w => w.model.type === 'code'
                && w.model.sharedModel.getSource().includes(marker));
            cell.model.sharedModel.setSource(text);
        }""",
        [marker, text],
    )


def activate_cell(page, marker: str) -> None:
    """Make the first code cell that holds `marker` the active one, in a kernel that is ready."""
    page.evaluate(
        """(marker) => {
            const panel = window.jupyterapp.shell.currentWidget;
            panel.content.activeCellIndex = panel.content.widgets.findIndex(w =>
                w.model.type === 'code' && w.model.sharedModel.getSource().includes(marker));
            panel.content.deselectAll();
        }""",
        marker,
    )
    page.evaluate(READY)


def command(page, name: str, *, wait: bool = True) -> None:
    """Execute one of JupyterLab's commands; if `wait`, until it is done."""
    then = "" if wait else "; null"
    page.evaluate(f"window.jupyterapp.commands.execute({name!r}){then}")


def output_of(page) -> str:
    """What the active cell shows below itself."""
    return page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.activeCell.node"
        ".querySelector('.jp-OutputArea')?.innerText"
    )


def run_cell(page, marker: str) -> str:
    """Run the first code cell that holds `marker`; returns the text of its outputs."""
    activate_cell(page, marker)
    command(page, "notebook:run-cell")
    return output_of(page)


def run_all(page) -> list[dict]:
    """Run the whole notebook; number, error outputs and text on stderr of every code cell."""
    page.evaluate(READY)
    command(page, "notebook:run-all-cells")
    return page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets
            .filter(w => w.model.type === 'code')
            .map(w => [w.model.executionCount, w.model.outputs.toJSON()])
            .map(([count, outputs]) => ({
                count,
                errors: outputs.filter(o => o.output_type === 'error').map(o => o.evalue),
                stderr: outputs.filter(o => o.name === 'stderr').map(o => o.text),
            }))"""
    )
