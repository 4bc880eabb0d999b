"""The result of `compare_models`: different weights, and the first layer with other outputs."""

from dataclasses import asdict, dataclass

from course_utils.shown.page import State
from course_utils.shown.report import Report, Table


@dataclass(frozen=True)
class Difference:
    """One tensor (a weight or a layer's output) in both models."""

    name: str
    share: float  # largest difference by the largest magnitude; inf where shapes differ
    is_rounding: bool
    what: str  # "float32 and bfloat16", "(4, 8) and (8, 8)", "only in the first"


@dataclass(frozen=True)
class Comparison(Report):
    """Where two models differ. `layer` is the first, in the order of execution, whose output does.

    `logits_apart` is in standard deviations of the first model's logits; `argmax_flips` is the
    share of tokens for which the two prefer another token.
    """

    weights: tuple[Difference, ...]
    layer: Difference | None
    num_weights: int
    logits_apart: float | None = None
    argmax_flips: float | None = None
    why_no_outputs: str = ""

    @property
    def is_same(self) -> bool:
        """Whether no weight and no output differs by more than rounding."""
        found = [*self.weights, *([self.layer] if self.layer else [])]
        return all(one.is_rounding for one in found)

    @property
    def others(self) -> tuple[Difference, ...]:
        """The weights that differ by more than rounding."""
        return tuple(one for one in self.weights if not one.is_rounding)

    @property
    def state(self) -> State:
        return State.GOOD if self.is_same else State.BAD

    @property
    def place(self) -> str:
        if self.layer is not None and not self.layer.is_rounding:
            return self.layer.name
        return self.others[0].name if self.others else ""

    @property
    def headline(self) -> str:
        said = f"; {self.said}" if self.said else ""
        if self.is_same:
            rounded = f", {len(self.weights)} of them but for rounding" if self.weights else ""
            return f"all {self.num_weights} weights are the same{rounded}{said}"
        where = f"the first layer that differs is {self.place}" if self.place else "they differ"
        return f"{where}: {len(self.others)} of {self.num_weights} weights differ{said}"

    @property
    def said(self) -> str:
        if self.logits_apart is None:
            return self.why_no_outputs
        return (
            f"logits up to {self.logits_apart:.2g} of their spread apart, "
            f"{self.argmax_flips:.1%} of the tokens have another first choice"
        )

    @property
    def cause(self) -> str:
        if self.is_same:
            return ""
        if any(one.what.startswith("only") for one in self.others):
            return "one has tensors that the other lacks: an adapter or a head was not loaded"
        return "a weight of this layer is another one, by more than its format rounds"

    @property
    def fix(self) -> str:
        return "" if self.is_same else "load or merge it again, and compare the key names"

    def table(self) -> Table:
        rows = [("output", *_row(self.layer))] if self.layer else []
        rows += [("weight", *_row(one)) for one in sorted(self.weights, key=_by_size)[:8]]
        return Table(columns=("", "where", "largest difference", "which", "rounding"), rows=rows)

    def to_dict(self) -> dict:
        return {
            "same": self.is_same,
            "headline": self.headline,
            "place": self.place,
            "logits_apart": self.logits_apart,
            "argmax_flips": self.argmax_flips,
            "weights": [asdict(one) for one in self.weights],
        }


def _by_size(one: Difference) -> tuple[bool, float]:
    return one.is_rounding, -one.share


def _row(one: Difference) -> tuple[str, ...]:
    return one.name, f"{one.share:.2g}", one.what, "yes" if one.is_rounding else "no"
