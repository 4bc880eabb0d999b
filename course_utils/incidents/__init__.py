"""Broken runs as people met them, each with a healthy twin and a fix; and odd healthy runs.

A module of `broken/` holds one `INCIDENT`, a module of `healthy/` one `LOOK_ALIKE`; dropping a file
in is all it takes. Importing this package imports no torch.
"""

import importlib
import pkgutil
from pathlib import Path

from course_utils.incidents import broken, healthy
from course_utils.incidents.declared import declared


def names(folder=broken) -> list[str]:
    """Their names, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__))


def load_incident(name: str):
    """The `Incident` of that name."""
    return importlib.import_module(f"{broken.__name__}.{name}").INCIDENT


def declaration(name: str) -> dict[str, object]:
    """What the `Incident` of that name says, in words alone; imports no torch."""
    return declared(Path(broken.__file__).with_name(f"{name}.py"), "Incident")


def load_look_alike(name: str):
    """The `LookAlike` of that name."""
    return importlib.import_module(f"{healthy.__name__}.{name}").LOOK_ALIKE
