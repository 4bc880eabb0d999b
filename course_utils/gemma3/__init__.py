"""Gemma 3 in float16: will this checkpoint overflow, and the exact rescaling that makes it fit.

    check_range       how large its numbers become, against what float16 holds
    rescale_stream    the same function with a residual stream of another size
    load_for_float16  both at once, for a path or hub id

Importing it is cheap: torch and transformers come with the first name that is used.
"""

import importlib

_PARTS = {
    "check_range": "reach",
    "StreamRange": "reach",
    "rescale_stream": "stream",
    "load_for_float16": "load",
}

__all__ = list(_PARTS)


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
