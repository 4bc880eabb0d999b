"""The trail of a non-finite number: one event per operation that put one out, linked backwards.

An inf is not a fault by itself: masks use them, and most are consumed by an operation that
gives finite numbers again. So nothing here raises an alarm. A search starts at a loss, gradient
or weight that *is* non-finite and follows its trail back to the operation that is to blame.
"""

from dataclasses import dataclass, field

import torch

from course_utils.diagnostics.nonfinite.places import Places
from course_utils.diagnostics.nonfinite.values import Values

# Operations that turn a row of -inf into NaN although each -inf was meant: a mask that hid all.
ROW_WISE = {"softmax", "log_softmax", "logsumexp"}


@dataclass(frozen=True, eq=False)
class Event:
    """One operation whose output was not finite, or one tensor that was so from the start."""

    index: int  # position among the operations of the step
    operation: str  # ATen name without namespace and leading underscore: "exp", "softmax"
    phase: str  # forward, backward, optimizer, or "already in ..." for what no operation made
    module: str  # dotted name as in model.named_modules(); a tensor's name for "already in ..."
    node: str  # backward only: the forward operation that is being differentiated
    dtype: torch.dtype  # of the output
    out: Values
    largest_input: float  # largest finite magnitude among the inputs
    only_neg_inf: bool  # the non-finite inputs were all -inf
    is_fresh: bool  # some element became non-finite although its own inputs were finite
    is_written: bool  # an argument of the call was itself inf or nan: somebody wants it there
    places: Places
    sentence: str  # what happened to one element, with its values; "" where it only passed through
    shape: tuple[int, ...] = ()
    at: tuple[int, ...] = ()  # index of the most telling element
    rows: tuple[int, ...] = ()  # positions along the first axis that are not finite, at most 8
    sources: tuple["Source", ...] = field(default=(), repr=False)

    @property
    def limit(self) -> float:
        return torch.finfo(self.dtype).max

    @property
    def is_overflow(self) -> bool:
        """Whether finite inputs gave a result beyond the format, not a pole such as 1 / 0."""
        return "left the range" in self.sentence or "outside the range" in self.sentence

    @property
    def is_operation(self) -> bool:
        return not self.phase.startswith("already")

    @property
    def is_meant(self) -> bool:
        """Whether the code wrote it as a constant, or it is -inf older than the step."""
        from_before = not self.is_operation and self.phase != "already in the weights"
        return self.is_written or (from_before and self.out.num_inf == 0)


@dataclass(frozen=True)
class Source:
    """One non-finite input of an event, as it was when the operation began."""

    event: Event
    has_nan: bool
    has_inf: bool


@dataclass(frozen=True)
class Blame:
    """The operation where finite numbers ended, and the one where inf became NaN (if any)."""

    origin: Event
    became_nan: Event | None = None


def find_blame(event: Event) -> Blame:
    """Follow one non-finite result to the operation that is to blame.

    NaN is followed to where it was made. If infs made it, they are followed to where they were
    made: an operation that overflowed takes the blame; infs that were written on purpose do
    not, and then the blame stays where the NaN was made.
    """
    if not event.out.has_nan:
        return Blame(origin=_first_inf(event))
    nan_made = _first_nan(event)
    infs = [_first_inf(source.event) for source in nan_made.sources if source.has_inf]
    overflows = [inf for inf in infs if not inf.is_meant]
    mask_hid_all = nan_made.operation in ROW_WISE and nan_made.only_neg_inf
    if mask_hid_all or not overflows:
        return Blame(origin=nan_made)
    return Blame(origin=_earliest(overflows), became_nan=nan_made)


def _first_nan(event: Event) -> Event:
    while sources := [s.event for s in event.sources if s.has_nan]:
        event = _earliest(sources)
    return event


def _first_inf(event: Event) -> Event:
    while event.sources and not event.is_fresh:
        event = _earliest([source.event for source in event.sources])
    return event


def _earliest(events: list[Event]) -> Event:
    return min(events, key=lambda event: event.index)
