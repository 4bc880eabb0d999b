"""What a gradient-flow audit found, as a report. Computes nothing about the model."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from enum import StrEnum

from course_utils.diagnostics.gradient_flow import advice
from course_utils.diagnostics.gradient_flow.crossings import Cut, Flat
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table

NOT_LOOKED_AT = "One step on one batch; not looked at: what the optimizer holds (optimizer=)."


class Flow(StrEnum):
    """The result of one backward pass for one trainable parameter."""

    RECEIVED = "received"
    WAITING = "zero while its LoRA partner is zero"  # healthy: B is zero at the start
    STARTING = "zero in the first step only"  # healthy: what follows it starts at zero
    ZERO = "exactly zero, also after a step"
    NOT_FINITE = "nan or inf"
    CUT = "none: the graph is cut"
    NO_EFFECT = "none: the loss does not depend on it"
    UNUSED = "none: no call took it"


@dataclass(frozen=True)
class ParameterFlow:
    """One trainable parameter after one backward pass."""

    name: str
    flow: Flow
    largest_grad: float | None  # largest magnitude; None where .grad is None
    cut: Cut | None = None


@dataclass(frozen=True)
class HeldParameters:
    """Which trainable parameters the optimizer holds."""

    num_held: int
    missing: tuple[str, ...]

    @property
    def holds_all(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class GradientFlow(Report):
    """Every trainable parameter with the gradient it got, and the cuts that explain the rest."""

    parameters: tuple[ParameterFlow, ...]
    cuts: tuple[Cut, ...]
    loss_has_graph: bool  # False: backward() raises "does not have a grad_fn"
    num_frozen: int
    num_frozen_adapters: int  # frozen matrices of a LoRA adapter
    flat: Flat | None = None  # the first call without a slope that a stuck parameter went through
    optimizer: HeldParameters | None = None  # None: there was none to look at

    @property
    def is_healthy(self) -> bool:
        """Whether something trains, and nothing is cut off, stuck at 0 or not finite.

        And the optimizer, if there was one to look at, holds what trains.
        """
        holds = self.optimizer is None or self.optimizer.holds_all
        bad = self.cuts or self.stuck or self.not_finite
        return self.count(Flow.RECEIVED) > 0 and not bad and holds

    @property
    def state(self) -> State:
        return State.GOOD if self.is_healthy else State.BAD

    @property
    def stuck(self) -> list[str]:
        """Parameters whose gradient is exactly 0, and stays 0 once the others have moved."""
        return [p.name for p in self.parameters if p.flow is Flow.ZERO]

    @property
    def not_finite(self) -> list[str]:
        return [p.name for p in self.parameters if p.flow is Flow.NOT_FINITE]

    @property
    def num_reached(self) -> int:
        """Parameters that have a gradient at all, even if it is 0 or nan."""
        return sum(p.largest_grad is not None for p in self.parameters)

    @property
    def cause(self) -> str:
        return self._cause_and_fix[0]

    @property
    def fix(self) -> str:
        return self._cause_and_fix[1]

    @property
    def _cause_and_fix(self) -> tuple[str, str]:
        if not self.parameters:
            return advice.frozen(has_adapters=self.num_frozen_adapters > 0)
        if self.not_finite:
            return advice.NOT_FINITE
        if self.cuts:
            return advice.cut_at(self.cuts[0])
        if not self.num_reached:
            return advice.NOT_REACHED
        if self.stuck:
            is_all = len(self.stuck) == len(self.parameters)
            return advice.stuck_at_zero(self.stuck, self.flat, is_all=is_all)
        if self.optimizer is not None and not self.optimizer.holds_all:
            return advice.not_held(self.optimizer.missing[0])
        return "", ""

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
        if not self.num_reached:
            silent = "and no error says so" if self.loss_has_graph else "so backward() raises"
            return f"The loss depends on no trainable parameter, {silent}."
        if len(self.not_finite) == total:
            return f"Every gradient holds nan or inf ({total}): no step with them can be taken."
        if not received and not self.not_finite:
            return f"The graph is whole, but every gradient that arrives is exactly 0 ({total})."
        rest = [f"{n} {flow}" for flow in list(Flow)[1:] if (n := self.count(flow))]
        trained = f"{received} of {total} trainable parameters receive a gradient"
        if self.optimizer is not None and not self.optimizer.holds_all:
            held = self.optimizer.num_held
            rest.append(f"the optimizer holds {held or 'none'} of the {total}")
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
        if self.is_healthy and self.optimizer is None:
            notes += (NOT_LOOKED_AT,)
        columns = ("trainable parameters", "number", "gradient", "largest", "cut in")
        return Table(columns=columns, rows=rows, notes=notes)

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "is_healthy": self.is_healthy,
            "cause": self.cause,
            "fix": self.fix,
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
