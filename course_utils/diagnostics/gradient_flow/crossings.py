"""A crossing: a call that took tensors with a gradient history and returned one without.

Most are harmless, such as a detached copy beside a live one; it takes the backward pass to know.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import NamedTuple

from course_utils.diagnostics.nonfinite.places import Place


class Cause(StrEnum):
    """The observed reason of a crossing."""

    CHECKPOINT = "reentrant checkpointing, and none of its inputs requires grad"
    INFERENCE_MODE = "called under torch.inference_mode"
    NO_GRAD = "called under torch.no_grad"
    DETACH = "detached"
    INTEGER = "turned into integers or booleans"
    ESCAPE = "turned into a Python number or a NumPy array"
    OTHER = "an operation without a derivative"
    UNSEEN = "at a place that no torch call from Python shows"


class History(NamedTuple):
    """What a tensor was computed from: bit sets of trainable parameters and of crossings."""

    parameters: int = 0
    crossings: int = 0

    def __or__(self, other: "History") -> "History":
        return History(self.parameters | other.parameters, self.crossings | other.crossings)


@dataclass(frozen=True)
class Cut:
    """Where values go on and gradients do not come back; equal cuts in several modules are one."""

    cause: Cause
    modules: tuple[str, ...]  # dotted names in the order of execution; "" is the model itself
    operation: str  # the first torch call without a gradient
    place: str  # its source line
    num_parameters: int  # that lose their gradient here

    @property
    def where(self) -> str:
        first = self.modules[0] or "the model itself"
        others = len(self.modules) - 1
        return f"{first} and {others} more" if others else first

    @property
    def evidence(self) -> str:
        return f"first in {self.operation}(), {self.place}" if self.operation else "not located"


@dataclass(frozen=True)
class Flat:
    """A call whose derivative is 0 everywhere: the graph goes on, but no gradient does."""

    parameters: int  # bit set of those whose values went in
    operation: str
    module: str
    place: Place


@dataclass
class Input:
    """One input of a crossing; `alive` once a gradient reached it by another path."""

    parameters: int
    alive: bool = False


@dataclass(eq=False)
class Crossing:
    """A call that took tensors with a gradient history and returned one without."""

    cause: Cause
    module: str  # dotted name; "" is the model itself
    operation: str
    place: Place | None
    number: int = -1  # in the order of execution
    inputs: list[Input] = field(default_factory=list)
    in_recompute: bool = False  # seen while a checkpointed block ran again, in backward

    @property
    def lost(self) -> int:
        """The parameters whose gradient reached no input of this call: a bit set."""
        return reduce(or_, (seen.parameters for seen in self.inputs if not seen.alive), 0)
