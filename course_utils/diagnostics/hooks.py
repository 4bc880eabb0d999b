"""What is put on a user's model for a while, and what a copy of the model does not take over.

A callback may copy the model in the midst of a run (an average of the weights, a reference), or
save it whole. A hook that is a bound method would be copied with all that its object keeps, and
ends the run where that holds a generator; a function would listen to the copy as well.
"""

from collections.abc import Callable
from typing import Any


class Hook:
    """A hook that does nothing on a copy of the module, unpickled ones included.

    >>> import copy
    >>> hook = Hook(lambda module, args: "heard")
    >>> hook(None, ()), copy.deepcopy(hook)(None, ())
    ('heard', None)
    """

    __slots__ = ("function",)  # torch copies the __dict__ of some hooks into its own

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple:
        return _deaf, ()


class Method:
    """A function in place of an object's method; a copy of the object has the class's own."""

    __slots__ = ("function", "name", "owner")

    def __init__(self, owner: object, name: str, function: Callable[..., Any]) -> None:
        self.owner, self.name, self.function = owner, name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple:
        return getattr, (self.owner, self.name)  # by then the copy has no attribute of its own yet


def _deaf() -> Callable[..., None]:
    return _nothing


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    return None
