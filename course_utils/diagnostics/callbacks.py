"""What a callback of ours derives from, so that an instrument needs no transformers."""

from collections.abc import Callable


class RunCallback:
    """To a Trainer what a TrainerCallback is: each event is a method, and does nothing by default.

    A Trainer looks up `on_EVENT` by name and asks for no class (transformers 4.46 to 5.23).

    >>> RunCallback().on_step_begin("args", "state", "control")
    """

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _nothing(*_: object, **__: object) -> None:
    """An event that the callback does not take."""
