"""Two lists of module names in one log: those of an adapter, and those of the model it is for."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_OF_ADAPTER = re.compile(r"\b(?:base_model\.model\.)?((?:\w+\.)*?)(layers\.\d+\.\w+)[\w.]*\.lora_")
_OF_MODEL = re.compile(r"^\W*((?:\w+\.)*?)(layers\.\d+\.\w+)(?:\.\w+)*\W*$")
WEIGHT = 8.0


def names_apart(beside: Beside, _log: Log) -> Iterator[Finding]:
    """The same blocks stand under other names in the adapter and in the model."""
    adapter, model = _found(beside, _OF_ADAPTER), _found(beside, _OF_MODEL)
    shared = [block for block in adapter if block in model]
    if not shared or any(adapter[block][0] == model[block][0] for block in shared):
        return
    (kept, line), (here, other) = adapter[shared[0]], model[shared[0]]
    yield Finding(
        "adapter_not_loaded",
        WEIGHT,
        line,
        (
            f"{line.where}: the adapter has {kept}{shared[0]}",
            f"{other.where}: the model has {here}{shared[0]}",
        ),
        why=f"the adapter's weights are called {kept or 'layers.'}... and the modules of the model "
        f"that is served {here or 'layers.'}...: none matches, so that none is applied",
        advice="rename the adapter's keys to the names of the class that is served, train on that "
        "class, or merge the adapter and serve the merged model",
    )


def _found(beside: Beside, pattern: re.Pattern) -> dict[str, tuple[str, Line]]:
    """By block, such as layers.0.mlp, the names before it and the line."""
    found: dict[str, tuple[str, Line]] = {}
    for line in beside.words:
        match = pattern.search(line.text)
        if match and (pattern is _OF_ADAPTER or "lora_" not in line.text):
            found.setdefault(match[2], (match[1], line))
    return found
