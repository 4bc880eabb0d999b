"""What an adapter reached, as a report: by tensor, in groups."""

import re
from dataclasses import dataclass

from course_utils.diagnostics.reach.groups import (
    ATTENTION,
    EXPERTS,
    GROUPS,
    MLP,
    RECURRENT,
    ROUTER,
    SHARED,
)
from course_utils.diagnostics.reach.reading import ADAPTED, FROZEN, Reached
from course_utils.shown.report import Report, Table

BODY = (ATTENTION, RECURRENT, MLP, SHARED)  # what a reader takes for "the model", beside experts
OF_MLP = r"(gate|up|down)_proj|\bw[123]\b|\bfc|mlp|ffn|expert|dense"


@dataclass(frozen=True)
class Group:
    """One part of the model: matrices, those with an adapter or trained, and its share."""

    name: str
    num_matrices: int
    num_adapted: int
    num_trained: int  # themselves, in full or by rows, without an adapter
    num_weights: int
    share: float  # of all weights of the model

    @property
    def is_reached(self) -> bool:
        return self.num_adapted + self.num_trained > 0

    @property
    def is_whole(self) -> bool:
        return self.num_adapted + self.num_trained == self.num_matrices


@dataclass(frozen=True)
class AdapterReach(Report):
    """Which tensors of a model have an adapter.

    Attributes:
        tensors: all of the model, without the adapter's own.
        names: the modules and parameters that the adapter names, as PEFT keeps them.
        has_adapter: whether there is one.
        is_tied: whether head and embedding are one tensor.
        can_name_parameters: whether this version of PEFT has `target_parameters` (0.17 has).
    """

    tensors: tuple[Reached, ...]
    names: tuple[str, ...] = ()
    has_adapter: bool = True
    is_tied: bool = False
    can_name_parameters: bool = True

    @property
    def groups(self) -> dict[str, Group]:
        """The parts that this model has, by name."""
        total = sum(one.size for one in self.tensors) or 1
        found = {}
        for name in GROUPS:
            members = [one for one in self.tensors if one.group == name]
            matrices = [one for one in members if one.is_matrix]
            adapted = sum(one.state == ADAPTED for one in matrices)
            frozen = sum(one.state == FROZEN for one in matrices)
            size = sum(one.size for one in members)
            trained = len(matrices) - adapted - frozen
            if members:
                found[name] = Group(name, len(matrices), adapted, trained, size, size / total)
        return found

    @property
    def misses_experts(self) -> bool:
        """Whether there are experts, and none of their weights can change."""
        experts = self.groups.get(EXPERTS)
        return experts is not None and not experts.is_reached

    @property
    def adapts_router(self) -> bool:
        router = self.groups.get(ROUTER)
        return router is not None and router.num_adapted > 0

    @property
    def are_experts_stacked(self) -> bool:
        """Whether experts are parameters that `target_modules` does not reach."""
        return any(one.is_stacked for one in self.tensors if one.group == EXPERTS)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The names that no adapter came from."""
        return tuple(name for name in self.names if not self._matched(name))

    @property
    def means_experts(self) -> bool:
        """Whether a name is one of an MLP, without saying that it means the shared one.

        Who names attention alone has chosen it; who names `gate_proj` as well expects the experts.
        """
        named = [name for name in self.names if "shared" not in name]
        return any(
            re.search(OF_MLP, name) or {one.group for one in self._matched(name)} & {MLP, SHARED}
            for name in named
        )

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """What to name so that the experts have an adapter."""
        missed = [o for o in self.tensors if o.group == EXPERTS and o.is_matrix]
        missed = [one for one in missed if one.state == FROZEN]
        return tuple(dict.fromkeys(map(_in_a_layer, missed)))

    def _matched(self, name: str) -> list[Reached]:
        ends = (f".{name}.weight", f".{name}")
        return [o for o in self.tensors if o.state == ADAPTED and f".{o.name}".endswith(ends)]

    @property
    def headline(self) -> str:
        if not self.tensors:
            return "This model has no weights."
        if not self.has_adapter:
            return self._without_adapter()
        if not any(group.is_reached for group in self.groups.values()):
            return "No weight of the model has an adapter."  # virtual tokens before the rows
        said = [self._of_experts(), "The router is adapted." if self.adapts_router else ""]
        body = [self.groups[name] for name in BODY if name in self.groups]
        bare = [f"{g.name} ({_percent(g.share)})" for g in body if not g.is_reached]
        if bare:
            said.append(f"Without an adapter: {', '.join(bare)} of the weights.")
        if self.unmatched:
            said.append(f"No adapter came from {', '.join(self.unmatched)}.")
        if self.is_tied and any(re.search(r"(^|\.)lm_head$", name) for name in self.names):
            said.append("The head is tied to the embedding: a merge changes both.")
        return " ".join(one for one in said if one) or self._all_reached()

    def _without_adapter(self) -> str:
        trained = sum(one.state != FROZEN for one in self.tensors)
        experts = self.groups.get(EXPERTS)
        inside = f" Experts are {_percent(experts.share)} of the weights." if experts else ""
        return f"No adapter: {trained} of {len(self.tensors)} tensors are trained.{inside}"

    def _of_experts(self) -> str:
        experts = self.groups.get(EXPERTS)
        if experts is None:
            return ""
        if not experts.is_reached:
            return (
                f"No expert has an adapter: {_percent(experts.share)} of the weights cannot change."
            )
        reached = experts.num_adapted + experts.num_trained
        if experts.is_whole:
            return f"Every expert has an adapter ({_percent(experts.share)} of the weights)."
        return f"{reached} of {experts.num_matrices} tensors of the experts have an adapter."

    def _all_reached(self) -> str:
        return f"An adapter on {', '.join(g.name for g in self.groups.values() if g.is_reached)}."

    @property
    def cause(self) -> str:
        if not (self.has_adapter and self.misses_experts):
            return ""
        if self.are_experts_stacked:
            return "the experts are stacked parameters, which target_modules does not reach"
        return "target_modules does not name the experts' layers"

    @property
    def fix(self) -> str:
        if not (self.has_adapter and self.misses_experts):
            return ""
        if self.are_experts_stacked and not self.can_name_parameters:
            return "to train the experts, use PEFT 0.17 or later, which has target_parameters"
        if self.are_experts_stacked:
            named = f"target_parameters={list(self.out_of_reach)}"
            return f"to train the experts: {named}, with lora_dropout=0"
        return f"to train the experts: target_modules={list(self.out_of_reach)}"

    def table(self) -> Table:
        rows = []
        for group in self.groups.values():
            count = f"{group.num_adapted} of {group.num_matrices}" if group.num_matrices else "-"
            trained = str(group.num_trained or "-")
            example = next(o.name for o in self.tensors if o.group == group.name)
            rows.append((group.name, count, trained, _percent(group.share), example))
        columns = ("part", "matrices with an adapter", "trained", "of the weights", "such as")
        return Table(columns=columns, rows=rows)

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "has_adapter": self.has_adapter,
            "groups": {name: vars(group) for name, group in self.groups.items()},
            "misses_experts": self.misses_experts,
            "are_experts_stacked": self.are_experts_stacked,
            "adapts_router": self.adapts_router,
            "unmatched": list(self.unmatched),
            "is_tied": self.is_tied,
            "adapted": [one.name for one in self.tensors if one.state == ADAPTED],
            "cause": self.cause,
            "fix": self.fix,
        }


def _in_a_layer(tensor: Reached) -> str:
    """The part of a name that all layers share, as the options of LoraConfig take it."""
    within = re.split(r"\.\d+\.", tensor.name)[-1]
    return within if tensor.is_stacked else within.removesuffix(".weight").rpartition(".")[2]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or not share else "under 1%"
