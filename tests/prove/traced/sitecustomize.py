"""Notes which files and folders of this repository a Python process reads, its children's too.

Python imports a module of this name at its start. For every path that is opened, and every folder
that is listed other than by an import, one line goes to the file that PROVE_TRACE names.
"""

import os
import sys

_ROOT, _TRACE = os.environ.get("PROVE_ROOT"), os.environ.get("PROVE_TRACE")
_LISTS = ("os.listdir", "os.scandir")
_SETTINGS = os.path.join("_pytest", "config", "findpaths.py")  # they belong to every proof
_noted = set()


def _note(event, args):
    if event != "open" and event not in _LISTS:
        return
    path = args[0] if args else None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    elif not isinstance(path, str):
        path = "." if path is None else getattr(path, "path", None)
    if path is None or (event, path) in _noted:
        return
    _noted.add((event, path))
    whole = os.path.abspath(path)
    if whole != _ROOT and not whole.startswith(_ROOT + os.sep):
        return
    if event in _LISTS and "importlib" in sys._getframe(1).f_code.co_filename:
        return
    if whole.endswith("pyproject.toml") and _is_below(_SETTINGS):
        return
    try:  # closed again at once: a child may close all files that it did not open
        with open(_TRACE, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{'file' if event == 'open' else 'folder'} {whole}\n")
    except OSError:
        pass  # a process within walls


def _is_below(module):
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.endswith(module):
        frame = frame.f_back
    return frame is not None


if _ROOT and _TRACE:
    sys.addaudithook(_note)
