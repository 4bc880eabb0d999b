"""What a gradient-flow audit found, as a report. Computes nothing about the model."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from enum import StrEnum

from course_utils.diagnostics.gradient_flow.crossings import Cause
from course_utils.report import Report, Table


class Flow(StrEnum):
    """What one backward pass brought to one trainable parameter."""

    RECEIVED = "received"
    WAITING = "zero while its LoRA partner is zero"  # healthy: B is zero at the start
    ZERO = "exactly zero"
    CUT = "none: the graph is cut"
    NO_EFFECT = "none: the loss does not depend on it"
    UNUSED = "none: no call took it"


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
class ParameterFlow:
    """One trainable parameter after one backward pass."""

    name: str
    flow: Flow
    largest_grad: float | None  # largest magnitude; None where .grad is None
    cut: Cut | None = None


@dataclass(frozen=True)
class GradientFlow(Report):
    """Every trainable parameter with what reached it, and the cuts that explain the rest."""

    parameters: tuple[ParameterFlow, ...]
    cuts: tuple[Cut, ...]
    loss_has_graph: bool  # False: backward() raises "does not have a grad_fn"
    num_frozen: int
    num_frozen_adapters: int  # frozen matrices of a LoRA adapter

    @property
    def is_healthy(self) -> bool:
        """Whether something trains and nothing is cut off."""
        return self.count(Flow.RECEIVED) > 0 and not self.cuts

    def count(self, flow: Flow) -> int:
        return sum(parameter.flow is flow for parameter in self.parameters)

    @property
    def headline(self) -> str:
        total, received = len(self.parameters), self.count(Flow.RECEIVED)
        if not self.parameters:
            return (
                f"Nothing can train: all {self.num_frozen} parameters are frozen{self._adapters}."
            )
        if self.cuts:
            first = self.cuts[0]
            return f"The graph is cut in {first.where}: {first.cause}. {self._damage}"
        if not self.loss_has_graph:
            return "The loss depends on no trainable parameter, so backward() raises."
        if not received:
            return f"The graph is whole, but every gradient that arrives is exactly 0 ({total})."
        rest = [f"{n} {flow}" for flow in list(Flow)[1:] if (n := self.count(flow))]
        trained = f"{received} of {total} trainable parameters receive a gradient"
        return "; ".join([trained, *rest]) + f"{self._adapters}."

    @property
    def _damage(self) -> str:
        lost = f"{self.count(Flow.CUT)} of {len(self.parameters)} trainable parameters get none"
        if not self.loss_has_graph:
            return f"{lost}; the loss has no grad_fn, so backward() raises."
        return f"{lost}, and no error says so; number that train: {self.count(Flow.RECEIVED)}."

    @property
    def _adapters(self) -> str:
        if not self.num_frozen_adapters:
            return ""
        return f"; {self.num_frozen_adapters} matrices of a LoRA adapter are frozen"

    def table(self) -> Table:
        """One row for parameters that differ in nothing but the layer's number."""
        groups = defaultdict(list)
        for parameter in self.parameters:
            groups[same_layers(parameter.name), parameter.flow, parameter.cut].append(parameter)
        rows = []
        for (pattern, flow, cut), members in groups.items():
            known = [m.largest_grad for m in members if m.largest_grad is not None]
            largest = f"{max(known):.2g}" if known else "-"
            where = cut.where if cut else ""
            rows.append((pattern, str(len(members)), str(flow), largest, where))
        notes = tuple(f"Cut in {cut.where}: {cut.cause}; {cut.evidence}" for cut in self.cuts)
        columns = ("trainable parameters", "number", "gradient", "largest", "cut in")
        return Table(columns=columns, rows=rows, notes=notes)

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "is_healthy": self.is_healthy,
            "loss_has_graph": self.loss_has_graph,
            "num_frozen": self.num_frozen,
            "num_frozen_adapters": self.num_frozen_adapters,
            "cuts": [asdict(cut) for cut in self.cuts],
            "parameters": [
                {"name": p.name, "flow": str(p.flow), "largest_grad": p.largest_grad}
                for p in self.parameters
            ],
        }


def same_layers(name: str) -> str:
    """A dotted name without the layer's number.

    >>> same_layers("model.layers.7.mlp")
    'model.layers.*.mlp'
    """
    return re.sub(r"\.\d+(?=\.|$)", ".*", name)
