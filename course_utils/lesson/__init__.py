"""What a notebook works with: `lesson.start("03")`, its exercises, predictions and votes.

`TODO` and `start` are imported when they are first used: other rooms read the claims and the
symptoms from here, and need no IPython for that.
"""

from importlib import import_module

__all__ = ["TODO", "start"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.handle"), name)
