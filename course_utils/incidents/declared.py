"""What a module declares, read from its source: importing an incident takes torch and seconds."""

import ast
from contextlib import suppress
from pathlib import Path


def declared(module: Path, call: str) -> dict[str, object]:
    """The constant keywords of the first call of that name, such as `Incident(...)`."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = next(node for node in calls if getattr(node.func, "id", "") == call)
    said = {}
    for keyword in found.keywords:
        with suppress(ValueError):  # functions are not constants
            said[keyword.arg] = ast.literal_eval(keyword.value)
    return said
