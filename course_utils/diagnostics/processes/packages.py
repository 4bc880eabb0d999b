"""dill and psutil, which only child processes need: imported when the first child is started.

`packages.psutil` is the package, or the sentence that says how to install it.
"""

from importlib import import_module
from types import ModuleType

from course_utils.errors import Unsupported

NEEDED = {
    "dill": "a function and its arguments are copied into the child with it",
    "psutil": "the child and all that it starts are found and ended with it",
}


def __getattr__(name: str) -> ModuleType:
    if name not in NEEDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise Unsupported(
            f"a child process needs the package {name}, which is not installed here",
            why=NEEDED[name],
            fix="pip install dill psutil",
        ) from error
