"""What a float format can hold, and small formulas that reach its edge.

Importing it is cheap: torch and matplotlib come with the first name that is used.
"""

import importlib

_PARTS = {
    "FloatFormat": "formats",
    "float_format": "formats",
    "format_table": "formats",
    "autocast_table": "autocast",
    "draw_number_line": "figures",
    "draw_numbers": "figures",
}

__all__ = list(_PARTS)


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
