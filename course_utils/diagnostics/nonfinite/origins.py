"""Which event made each tensor of a step what it is, by its memory.

A kernel that is no ATen operation, as Triton's, is not seen: what it wrote is joined to the last
event before it.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from course_utils.diagnostics.nonfinite.events import Event, Source
from course_utils.diagnostics.nonfinite.explain import position_of
from course_utils.diagnostics.nonfinite.modules import ModuleNames
from course_utils.diagnostics.nonfinite.places import Places
from course_utils.diagnostics.nonfinite.values import (
    Values,
    address_of,
    is_readable,
    plain,
    storage_of,
)

UNSEEN = "a kernel that PyTorch does not show"


@dataclass(frozen=True)
class Site:
    """Where an operation stands."""

    phase: str
    module: str
    node: str
    places: Places


class Origins:
    """The events and the memory of one traced step.

    `inputs`: storage address -> name of a tensor of the batch.
    """

    def __init__(self, modules: ModuleNames, inputs: dict[int, str]):
        self.modules = modules
        self.inputs = inputs
        self.num_operations = 0
        self._num_joined = 0
        # A weak reference keeps a storage's address from being used again, not its memory.
        self._events: dict[int, tuple[StorageWeakRef, Event]] = {}
        self._made: dict[int, tuple[StorageWeakRef, Site]] = {}  # in this step, by which operation

    @property
    def note(self) -> str:
        """Whether a trail was joined over a kernel, in a sentence."""
        if not self._num_joined:
            return ""
        return (
            f"{UNSEEN[0].upper()}{UNSEEN[1:]} wrote a tensor on the way, as Triton's do: the trail "
            "goes on at the last operation before it."
        )

    def event_of(self, tensor: Tensor, values: Values) -> Event:
        """The event that made `tensor` (which is not finite) what it is."""
        address = address_of(tensor)
        _, event = self._events.get(address, (None, None))
        if event is None or (values.has_nan and not event.out.has_nan):
            event = self._unrecorded(tensor, values)
            self.keep(tensor, event)
        return event

    def _unrecorded(self, tensor: Tensor, values: Values) -> Event:
        """The event of a tensor that no operation was seen to make what it is."""
        address = address_of(tensor)
        if address in self._made:
            return self._after_unseen_kernel(tensor, values, self._made[address][1])
        kind, name = self.modules.named_tensors().get(address, ("memory", ""))
        if address in self.inputs:
            kind, name = "the input", self.inputs[address]
        return self.event(tensor, values, Site(f"already in {kind}", name, "", Places()))

    def _after_unseen_kernel(self, tensor: Tensor, values: Values, site: Site) -> Event:
        """An event at the operation that made the memory; its source is the last event before it.

        NaN is joined to NaN where there is one, else to an inf that nobody wrote on purpose.
        """
        seen = [event for _, event in self._events.values() if not event.is_meant]
        alike = [event for event in seen if values.has_nan and event.out.has_nan]
        last = max(alike or seen, key=lambda event: event.index, default=None)
        self._num_joined += last is not None
        return self.event(
            tensor,
            values,
            site,
            operation="kernel",
            is_fresh=last is None,
            sentence=f"{UNSEEN} wrote it, as Triton's do, or nobody did",
            sources=() if last is None else (Source(last, last.out.has_nan, last.out.has_inf),),
            **position_of(~plain(tensor).isfinite()),
        )

    def remember(self, output: Tensor, site: Site) -> None:
        """An operation put out this tensor, in memory that may be new."""
        if is_readable(output) and (address := address_of(output)) not in self._made:
            self._made[address] = (StorageWeakRef(storage_of(output)), site)

    def keep(self, tensor: Tensor, event: Event) -> None:
        """From now on, the memory of `tensor` holds what `event` made."""
        self._events[address_of(tensor)] = (StorageWeakRef(storage_of(tensor)), event)

    def event(self, tensor: Tensor, values: Values, site: Site, **details) -> Event:
        """An event at a site; without details, of a tensor that no operation made."""
        unmade = {
            "operation": "",
            "largest_input": values.largest,
            "only_neg_inf": False,
            "is_fresh": True,
            "is_written": False,
            "sentence": "",
        }
        if not details:
            unmade |= position_of(~plain(tensor).isfinite())
        return Event(
            index=self.num_operations,
            phase=site.phase,
            module=site.module,
            node=site.node,
            dtype=tensor.dtype,
            out=values,
            shape=tuple(tensor.shape),
            places=site.places,
            **(unmade | details),
        )
