"""The parameters of a notebook: their defaults, and values from a command line."""

import ast
from collections.abc import Iterable
from pathlib import Path

import click
from nbformat import NotebookNode

from course_utils.errors import BadRequest

PARAMETERS = "parameters"  # papermill's tag


def default_parameters(notebook: NotebookNode) -> dict[str, object]:
    """Name and default of each plain value that a lesson's parameters cell assigns.

    >>> from nbformat import v4
    >>> cell = v4.new_code_cell("SEED = 0", metadata={"tags": ["parameters"]})
    >>> default_parameters(v4.new_notebook(cells=[cell]))
    {'SEED': 0}
    """
    tagged = [cell for cell in notebook.cells if PARAMETERS in cell.metadata.get("tags", [])]
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for cell in tagged[:1]
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }


def read_values(
    given: Iterable[tuple[str, str]], notebook: NotebookNode, path: Path
) -> dict[str, object]:
    """`given`, with each value converted to the type of the parameter's default.

    papermill only warns about an unknown name, and then runs with the defaults.

    Raises:
        BadRequest: the notebook has no such parameter, or the value does not fit its type.
    """
    defaults, values = default_parameters(notebook), {}
    for name, text in given:
        if name not in defaults:
            raise BadRequest(
                f"{path.name} has no parameter {name!r}",
                why="a run with a misspelt parameter would silently use the default",
                fix=f"choose one of: {', '.join(defaults) or 'none, it has no parameters'}",
            )
        kind = type(defaults[name])
        try:
            values[name] = click.types.convert_type(kind).convert(text, None, None)
        except click.BadParameter as error:
            raise BadRequest(
                f"{text!r} is no value for {name}: {error.message}",
                why=f"its default is {defaults[name]!r}",
                fix=f"give a {kind.__name__}",
            ) from error
    return values
